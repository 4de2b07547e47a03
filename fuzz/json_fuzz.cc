// Any bytes as JSON: whatever is parsed is walked over from the first to the last.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/json.h"

namespace {

class Walker final : public penstock::data::Json::Visitor {
 public:
  void null() override { value(); }
  void boolean(bool) override { value(); }
  void number(std::int64_t) override { value(); }
  void number(std::uint64_t) override { value(); }
  void number(double) override { value(); }
  void other_number(std::string_view text) override {
    if (text.empty()) std::abort();
    value();
  }
  void text(std::string_view text) override { key(text), value(); }
  void list(std::size_t) override { ++open; }
  void object() override { ++open; }
  void key(std::string_view name) override {
    for (const char c : name) sum = sum + static_cast<unsigned char>(c);
  }
  void end() override {
    if (open-- == 0) std::abort();
    value();
  }
  void value() { ++values; }

  std::size_t open = 0, values = 0;
  volatile unsigned sum = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto json = penstock::data::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  Walker walker;
  (*json)->visit(walker);
  if (walker.open != 0 || walker.values == 0) std::abort();
  return 0;
}

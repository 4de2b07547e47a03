// Any bytes as a tf.train.Example: parsed by a fixed schema, and by what is inferred from them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "formats/tfrecord/example.h"

namespace penstock::formats::tfrecord {
namespace {

void look_at(const ExampleParser& parser, std::span<const std::byte> record, bool must_parse) {
  BufferPool pool(std::size_t(64) << 20);
  std::vector<FeatureValue> values;
  Buffer memory;
  const Status status = parser.parse(record, pool, values, memory);
  if (!status.ok()) {
    if (must_parse) std::abort();
    return;
  }
  [[maybe_unused]] static volatile unsigned sink;
  unsigned sum = 0;
  for (const std::byte byte : memory.bytes()) sum += unsigned(byte);
  for (const FeatureValue& value : values) {
    for (const std::byte byte : value.bytes) sum += unsigned(byte);
    for (const std::size_t length : value.lengths) sum += unsigned(length);
    for (const auto item : value.items) {
      for (const std::byte byte : item) sum += unsigned(byte);
    }
  }
  sink = sum;
}

}  // namespace
}  // namespace penstock::formats::tfrecord

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::formats::tfrecord;
  const auto record = std::as_bytes(std::span(data, size));
  static const ExampleParser fixed(
      {*parse_spec("label", "int64"), *parse_spec("box", "float[4]"),
       *parse_spec("tokens", "int64[]"), *parse_spec("parts", "bytes[]"),
       *parse_spec("pose", "float[][3]"), *parse_spec("words", "bytes[][]"),
       *parse_spec("walk", "int64[][]"), *parse_spec("all", "raw")});
  look_at(fixed, record, false);
  const Inferred found = infer(record);
  if (!found.specs.empty()) look_at(ExampleParser(found.specs), record, true);
  return 0;
}

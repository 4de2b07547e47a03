// Tokens of a window as int64, where the source does not put them into the batch itself.
#include <algorithm>

#include "data/steps.h"
#include "formats/tokens/widen.h"
#include "storage/fault_guard.h"

namespace penstock::data {
namespace {

class Tokens final : public RowStep {
 public:
  explicit Tokens(TokenWork work) : work_(std::move(work)) {}
  std::string name() const override { return "widen " + work_.field; }

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find(work_.field);
    const Bytes* bytes = value == nullptr ? nullptr : std::get_if<Bytes>(value);
    if (bytes == nullptr) {
      return Error(Code::no_field, "the sample has no tokens in a field '" + work_.field + "'");
    }
    const std::size_t count = bytes->bytes.size() / size_of(work_.dtype);
    if (count > work_.window) {
      return Error(Code::internal, "a window has more tokens than it may have");
    }
    const bool placed = work_.array && *work_.array < task.slots.size();
    Tensor own;
    std::int64_t* to = nullptr;
    if (placed) {
      to = task.slots[*work_.array].data<std::int64_t>() + task.slot * work_.window;
    } else {
      Result<Tensor> made = Tensor::empty(task.pool, DType::int64, {std::int64_t(work_.window)});
      if (!made) return std::move(made).error();
      own = *std::move(made);
      to = own.data<std::int64_t>();
    }
    const std::span<const std::byte> from = bytes->bytes;
    const bool there = storage::survives(
        [from, to, dtype = work_.dtype] { formats::tokens::widen(dtype, from, to); });
    if (!there) {
      return Error(Code::io,
                   "the file has become shorter while it was read: write a new file and rename it, "
                   "instead of changing one that is being read");
    }
    std::fill(to + count, to + work_.window, work_.pad);
    if (placed) {
      *value = Placed{*work_.array};
    } else {
      *value = std::move(own);
    }
    return {};
  }

 private:
  TokenWork work_;
};

}  // namespace

StepPtr token_step(TokenWork work) {
  return std::make_shared<Tokens>(std::move(work));
}

}  // namespace penstock::data

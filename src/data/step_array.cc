// Bytes of a row of an array as elements, straight into the batch where there is one.
#include <cstring>

#include "data/steps.h"

namespace penstock::data {
namespace {

class ArrayRow final : public RowStep {
 public:
  ArrayRow(ArrayWork work, std::size_t bytes) : work_(std::move(work)), bytes_(bytes) {}

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find(work_.field);
    const Bytes* bytes = value == nullptr ? nullptr : std::get_if<Bytes>(value);
    if (bytes == nullptr || bytes->bytes.size() != bytes_) {
      return Error(Code::not_found, "the sample has no row of an array in a field '" + work_.field +
                                        "'; it has: " + row.names());
    }
    if (work_.array && *work_.array < task.slots.size()) {
      std::byte* to = task.slots[*work_.array].raw() + task.slot * bytes_;
      if (bytes_ > 0) std::memcpy(to, bytes->bytes.data(), bytes_);
      *value = Placed{*work_.array};
      return {};
    }
    Result<Tensor> own = Tensor::empty(task.pool, work_.dtype, work_.shape);
    if (!own) return std::move(own).error();
    if (bytes_ > 0) std::memcpy(own->raw(), bytes->bytes.data(), bytes_);
    *value = *std::move(own);
    return {};
  }

 private:
  ArrayWork work_;
  std::size_t bytes_;
};

}  // namespace

Result<StepPtr> array_step(ArrayWork work) {
  const Result<std::size_t> bytes = Tensor::bytes_for(work.dtype, work.shape);
  if (!bytes) return bytes.error();
  return StepPtr(std::make_shared<ArrayRow>(std::move(work), *bytes));
}

}  // namespace penstock::data

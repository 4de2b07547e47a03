// Bytes of a row of an array as elements, straight into the batch where there is one.
#include <cstring>

#include "data/steps.h"

namespace penstock::data {
namespace {

class ArrayRow final : public RowStep {
 public:
  ArrayRow(ArrayWork work, std::size_t bytes, bool any_length)
      : work_(std::move(work)), bytes_(bytes), any_length_(any_length) {}

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find(work_.field);
    const Bytes* bytes = value == nullptr ? nullptr : std::get_if<Bytes>(value);
    if (bytes == nullptr || (any_length_ ? bytes_ == 0 || bytes->bytes.size() % bytes_ != 0
                                         : bytes->bytes.size() != bytes_)) {
      return Error(Code::no_field, "the sample has no row of an array in a field '" + work_.field +
                                       "'; it has: " + row.names());
    }
    if (work_.array && *work_.array < task.slots.size()) {
      std::byte* to = task.slots[*work_.array].raw() + task.slot * bytes_;
      if (bytes_ > 0) std::memcpy(to, bytes->bytes.data(), bytes_);
      *value = Placed{*work_.array};
      return {};
    }
    Dims shape = work_.shape;
    if (any_length_) shape[0] = static_cast<std::int64_t>(bytes->bytes.size() / bytes_);
    Result<Tensor> own = Tensor::empty(task.pool, work_.dtype, shape);
    if (!own) return std::move(own).error();
    if (own->nbytes() > 0) std::memcpy(own->raw(), bytes->bytes.data(), own->nbytes());
    *value = *std::move(own);
    return {};
  }

 private:
  ArrayWork work_;
  std::size_t bytes_;  // of a row, or of an element along the first dimension
  bool any_length_;
};

}  // namespace

Result<StepPtr> array_step(ArrayWork work) {
  const bool any_length = work.shape.rank() > 0 && work.shape[0] == -1;
  Dims one = work.shape;
  if (any_length) one[0] = 1;
  const Result<std::size_t> bytes = Tensor::bytes_for(work.dtype, one);
  if (!bytes) return bytes.error();
  return StepPtr(std::make_shared<ArrayRow>(std::move(work), *bytes, any_length));
}

}  // namespace penstock::data

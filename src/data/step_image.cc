// Images: from compressed bytes straight into the slot of the batch where that is known, else into
// memory of the row.
#include "data/steps.h"
#include "media/image/shared_crop.h"
#include "media/image/slot.h"

namespace penstock::data {
namespace {

// Memory of the row, always height x width x channels.
class RowTarget final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& shape) override {
    Result<Tensor> made = Tensor::empty(shape.bits == 16 ? DType::uint16 : DType::uint8,
                                        {shape.height, shape.width, shape.channels});
    if (!made) return std::move(made).error();
    array = *std::move(made);
    return PixelMemory{reinterpret_cast<std::uint8_t*>(array.raw()),
                       std::ptrdiff_t(shape.row_bytes())};
  }
  Tensor array;
};

// What was cut out of the picture: left, top, right, bottom.
Result<Tensor> box_array(const Box& box) {
  Result<Tensor> made = Tensor::empty(DType::float32, {4});
  if (!made) return made;
  float* edges = made->data<float>();
  edges[0] = static_cast<float>(box.left), edges[1] = static_cast<float>(box.top);
  edges[2] = static_cast<float>(box.right), edges[3] = static_cast<float>(box.bottom);
  return made;
}

class Image final : public RowStep {
 public:
  explicit Image(ImageWork work) : work_(std::move(work)) {}

  std::string name() const override {
    std::string name = "decode_image";
    for (const ImageField& field : work_.fields) name += " " + field.name;
    return name;
  }

  Status run(const RowTask& task, Row& row) const override {
    media::RequestPlanner first(work_.crop, RandomStream(task.key, task.position, work_.ordinal));
    media::SharedPlanner planner(first);
    for (const ImageField& field : work_.fields) {
      Value* value = row.find(field.name);
      if (value == nullptr) {
        return Error(Code::no_field, "decode_image: the sample has no field '" + field.name +
                                         "'; it has: " + row.names());
      }
      const Bytes* bytes = std::get_if<Bytes>(value);
      if (bytes == nullptr) {
        return Error(Code::invalid_argument,
                     "decode_image: field '" + field.name + "' does not hold the bytes of a file");
      }
      planner.use(field.filter);
      Result<Value> decoded = decode(task, field, *bytes, planner);
      if (!decoded) return media::in_field(field.name, decoded.error());
      *value = *std::move(decoded);
    }
    if (!work_.box.empty()) {
      Result<Tensor> box = box_array(planner.shown().box);
      if (!box) return std::move(box).error();
      row.set(work_.box, *std::move(box));
    }
    return {};
  }

 private:
  Result<Value> decode(const RowTask& task, const ImageField& field, const Bytes& bytes,
                       CropPlanner& planner) const {
    if (field.array && !task.slots.empty()) {
      const Tensor& slots = task.slots[*field.array];
      std::byte* slot = slots.raw() + task.slot * field.finish.bytes();
      Status status = media::decode_into_slot(media::as_bytes(bytes.bytes), field.options, planner,
                                              field.finish, slot);
      if (!status) return std::move(status).error();
      return Value(Placed{*field.array});
    }
    RowTarget target;
    Result<ImageShape> shape = decode_crop_resize(bytes.bytes, field.options, planner, target);
    if (!shape) return std::move(shape).error();
    return Value(std::move(target.array));
  }

  ImageWork work_;
};

}  // namespace

Result<StepPtr> image_step(ImageWork work) {
  if (Status status = check(work.crop); !status) return std::move(status).error();
  return StepPtr(std::make_shared<Image>(std::move(work)));
}

}  // namespace penstock::data

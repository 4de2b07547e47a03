#include "media/image/slot.h"

#include <string>

#include "media/image/crop_resize.h"

namespace penstock::media {
namespace {

class SlotRows final : public FinishedRows {
 public:
  SlotRows(const FinishSpec& finish, void* image) : finish_(finish), sink_(finish, image) {}

  Status begin(const ImageShape& shape) override {
    if (shape.height == finish_.height && shape.width == finish_.width &&
        shape.channels == finish_.channels && shape.bits == 8) {
      return {};
    }
    const auto text = [](std::int64_t h, std::int64_t w, int c) {
      return std::to_string(h) + " x " + std::to_string(w) + " x " + std::to_string(c);
    };
    return Error(Code::invalid_argument,
                 "the image is " + text(shape.height, shape.width, shape.channels) + " with " +
                     std::to_string(shape.bits) + " bits; the slot is for " +
                     text(finish_.height, finish_.width, finish_.channels));
  }
  std::uint8_t* place(std::int64_t y) override { return sink_.place(y); }
  void take(std::int64_t y, const std::uint8_t* row) override { sink_.take(y, row); }

 private:
  const FinishSpec& finish_;
  FinishSink sink_;
};

}  // namespace

Status decode_into_slot(Bytes bytes, const DecodeOptions& options, CropPlanner& planner,
                        const FinishSpec& finish, void* image) {
  if (Status s = check(finish); !s) return s;
  SlotRows rows(finish, image);
  Result<ImageShape> shape = crop_resize(bytes, options, planner, rows);
  if (!shape) return std::move(shape).error();
  return {};
}

}  // namespace penstock::media

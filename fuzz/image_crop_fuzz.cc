// The fused path: the first nine bytes choose crop, size, filter and mode, the rest is the file.
#include <span>

#include "image_fuzz.h"

namespace {

using namespace penstock;

class Planner final : public CropPlanner {
 public:
  explicit Planner(const std::uint8_t* choices) : choices_(choices) {}

  Result<CropResize> plan(const ImageInfo& info) override {
    CropResize plan;
    plan.crop.x = info.width * choices_[0] / 256;
    plan.crop.y = info.height * choices_[1] / 256;
    plan.crop.width = 1 + (info.width - plan.crop.x - 1) * choices_[2] / 255;
    plan.crop.height = 1 + (info.height - plan.crop.y - 1) * choices_[3] / 255;
    plan.out_width = 1 + choices_[4] % 64;
    plan.out_height = 1 + choices_[5] % 64;
    plan.filter = Filter(choices_[6] % 6);
    plan.mirror = choices_[7] & 1;
    plan.exact = choices_[7] & 2;
    plan.min_left = 1 + (choices_[7] >> 6);
    if (choices_[7] & 4) plan.keep = {plan.out_width / 3, plan.out_height / 3, 1, 1};
    return plan;
  }

 private:
  const std::uint8_t* choices_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 9) return 0;
  DecodeOptions options;
  options.max_pixels = 1 << 15;
  options.mode = PixelMode(data[8] % 6);
  options.strict = data[8] & 64;
  options.apply_orientation = data[8] & 128;
  const auto bytes = std::as_bytes(std::span(data + 9, size - 9));
  Planner planner(data);
  fuzz::Pixels pixels;
  (void)decode_crop_resize(bytes, options, planner, pixels);
  auto info = image_info(bytes);
  if (!info || info->width > options.max_pixels / info->height) return 0;
  const Rect part{info->width / 3, info->height / 3, 1 + info->width / 4, 1 + info->height / 4};
  (void)decode_image_region(bytes, part, options, pixels);
  return 0;
}

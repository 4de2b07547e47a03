// The fused path: the first nine bytes choose crop, size, filter and mode, the rest is the file.
#include <algorithm>
#include <span>
#include <vector>

#include "image_fuzz.h"
#include "media/image/crop_request.h"
#include "media/image/shared_crop.h"
#include "media/image/slot.h"

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

// A random crop, shared by the picture and itself as a mask, into a slot.
void fill_slots(const std::uint8_t* choices, std::span<const std::byte> bytes,
                const DecodeOptions& options) {
  media::CropRequest request;
  request.random = ResizedCropRange{};
  request.size = Size{1 + choices[4] % 64, 1 + choices[5] % 64};
  request.flip = 0.5;
  request.filter = Filter(choices[6] % 6);
  request.exact = choices[7] & 2;
  media::RequestPlanner planner(request, RandomStream(RandomKey(choices[0], 0), choices[1]));
  media::SharedPlanner shared(planner);
  FinishSpec finish;
  finish.height = request.size->height, finish.width = request.size->width;
  finish.channels = std::max(channels_of(options.mode), 1);
  finish.layout = choices[2] & 1 ? ImageLayout::chw : ImageLayout::hwc;
  finish.type = choices[2] & 2 ? DType::float16 : DType::float32;
  std::vector<std::byte> slot(finish.bytes());
  (void)media::decode_into_slot(media::as_bytes(bytes), options, shared, finish, slot.data());
  shared.use(Filter::nearest);
  (void)media::decode_into_slot(media::as_bytes(bytes), options, shared, finish, slot.data());
}

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
  fill_slots(data, bytes, options);
  auto info = image_info(bytes);
  if (!info || info->width > options.max_pixels / info->height) return 0;
  const Rect part{info->width / 3, info->height / 3, 1 + info->width / 4, 1 + info->height / 4};
  (void)decode_image_region(bytes, part, options, pixels);
  return 0;
}

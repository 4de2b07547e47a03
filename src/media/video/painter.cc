#include "media/video/painter.h"

#include <string>
#include <utility>

#include "media/image/crop_plan.h"
#include "media/image/scratch.h"
#include "transform/orientation.h"

namespace penstock::media {
namespace {

Resampler& resampler_of_thread() {
  thread_local Resampler resampler;
  return resampler;
}

}  // namespace

Status Painter::begin(const av::Picture& picture) {
  const bool first = !plan_;
  if (!first && picture.width == width_ && picture.height == height_) return {};
  std::int64_t width = picture.width, height = picture.height;
  if (request_.orientation >= 5) std::swap(width, height);
  RandomStream random = random_;  // pictures of another size draw the same
  Result<CropResize> planned = plan_crop(request_.crop, width, height, random);
  if (!planned) return std::move(planned).error();
  Result<CropResize> plan = complete(*planned, width, height);
  if (!plan) return std::move(plan).error();
  if (!first &&
      (plan->keep.width != plan_->keep.width || plan->keep.height != plan_->keep.height)) {
    return Error(Code::unsupported, "the pictures change their size from " +
                                        std::to_string(width_) + " x " + std::to_string(height_) +
                                        " to " + std::to_string(picture.width) + " x " +
                                        std::to_string(picture.height) +
                                        "; with a size, frames of all sizes can be had");
  }
  width_ = picture.width, height_ = picture.height;
  plan_ = *plan;
  if (!first) return {};
  request_.finish.height = plan->keep.height;
  request_.finish.width = plan->keep.width;
  request_.finish.channels = channels_of(request_.mode);
  if (Status fine = check(request_.finish); !fine) return fine;
  Result<std::byte*> memory = place_(request_.finish);
  if (!memory) return std::move(memory).error();
  memory_ = *memory;
  return {};
}

Status Painter::take(std::size_t which, const av::Picture& picture, av::Input& input) {
  if (Status begun = begin(picture); !begun) return begun;
  return paint(picture, input, memory_ + which * request_.finish.bytes());
}

Status Painter::paint(const av::Picture& picture, av::Input& input, std::byte* out) {
  const CropResize& plan = *plan_;
  const FinishSpec& finish = request_.finish;
  const int channels = finish.channels;
  const std::size_t pixel = std::size_t(channels);
  const bool whole = plan.crop.width == plan.out_width && plan.crop.height == plan.out_height &&
                     plan.keep.width == picture.width && plan.keep.height == picture.height &&
                     request_.orientation == 1 && !plan.mirror;
  if (whole && finish.layout == ImageLayout::hwc && finish.type == DType::uint8) {
    return input.convert(request_.mode, reinterpret_cast<std::uint8_t*>(out),
                         picture.width * channels);
  }
  const std::size_t bytes = std::size_t(picture.width) * std::size_t(picture.height) * pixel;
  ScratchLease stored(ScratchUse::whole, bytes);
  if (!stored) return Error(Code::out_of_memory, "no memory for a picture");
  Status converted = input.convert(request_.mode, stored.data(), picture.width * channels);
  if (!converted) return converted;
  ConstImageView source{stored.data(), picture.height, picture.width, channels,
                        picture.width * channels};
  std::optional<ScratchLease> turned;
  if (request_.orientation != 1) {
    turned.emplace(ScratchUse::region, bytes);
    if (!*turned) return Error(Code::out_of_memory, "no memory for a picture");
    ImageView upright{turned->data(), picture.height, picture.width, channels, 0};
    if (request_.orientation >= 5) std::swap(upright.width, upright.height);
    upright.row_bytes = upright.width * channels;
    Status done = orient(source, request_.orientation, upright);
    if (!done) return done;
    source = upright;
  }
  // The crop is resized as if nothing were around it.
  CropResize cut = plan;
  cut.crop = {0, 0, plan.crop.width, plan.crop.height};
  const ScaledCrop same = scale_crop(cut, plan.crop.width, plan.crop.height, {}, channels);
  FinishSink sink(finish, out);
  Resampler& resampler = resampler_of_thread();
  if (Status begun = resampler.begin(same.spec, sink); !begun) return begun;
  for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
    resampler.push_row(source.row(plan.crop.y + y) +
                       (plan.crop.x + resampler.first_col()) * channels);
  }
  return {};
}

}  // namespace penstock::media

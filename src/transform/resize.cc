// Whole images through the row-push resampler.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "transform/premultiply.h"
#include "transform/resample.h"

namespace penstock {
namespace {

class ImageSink final : public RowSink {
 public:
  explicit ImageSink(ImageView out) : out_(out) {}
  std::uint8_t* place(std::int64_t y) override { return out_.row(y); }
  void take(std::int64_t, const std::uint8_t*) override {}

 private:
  ImageView out_;
};

Resampler& thread_resampler() {
  thread_local Resampler resampler;
  return resampler;
}

Status check_views(const ConstImageView& source, const ResizeSpec& spec, const ImageView& out) {
  const auto bad = [](std::string message) {
    return Error(Code::invalid_argument, std::move(message));
  };
  if (source.data == nullptr) return bad("source has no pixels");
  if (out.data == nullptr) return bad("out has no pixels");
  if (out.channels != source.channels) {
    return bad("out has " + std::to_string(out.channels) + " channels, source has " +
               std::to_string(source.channels));
  }
  const bool all = spec.keep.width == 0 && spec.keep.height == 0;
  const std::int64_t width = all ? spec.out_width : spec.keep.width;
  const std::int64_t height = all ? spec.out_height : spec.keep.height;
  if (out.width != width || out.height != height) {
    return bad("out is " + std::to_string(out.width) + " x " + std::to_string(out.height) +
               " pixels, the result is " + std::to_string(width) + " x " + std::to_string(height));
  }
  return {};
}

ResizeSpec spec_for(const ConstImageView& source, Box box, const ImageView& out, Filter filter) {
  ResizeSpec spec;
  spec.src_width = source.width;
  spec.src_height = source.height;
  spec.channels = source.channels;
  spec.box = box;
  spec.out_width = out.width;
  spec.out_height = out.height;
  spec.filter = filter;
  return spec;
}

}  // namespace

Status resize(Resampler& resampler, ConstImageView source, const ResizeSpec& spec, ImageView out) {
  if (Status views = check_views(source, spec, out); !views) return views;
  if (spec.src_width != source.width || spec.src_height != source.height ||
      spec.channels != source.channels) {
    return Error(Code::invalid_argument, "source does not have the size the spec gives it");
  }
  ImageSink sink(out);
  if (Status begun = resampler.begin(spec, sink); !begun) return begun;
  const std::int64_t skip = resampler.first_col() * source.channels;
  for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y)
    resampler.push_row(source.row(y) + skip);
  return {};
}

Status resize(ConstImageView source, Box box, ImageView out, Filter filter) {
  return resize(thread_resampler(), source, spec_for(source, box, out, filter), out);
}

Status resize_premultiplied(ConstImageView source, Box box, ImageView out, Filter filter) {
  if (source.channels != 2 && source.channels != 4) {
    return Error(Code::invalid_argument, "source has " + std::to_string(source.channels) +
                                             " channels; only LA (2) and RGBA (4) have alpha");
  }
  const ResizeSpec spec = spec_for(source, box, out, filter);
  const bool unchanged = out.width == source.width && out.height == source.height &&
                         box.left == 0 && box.top == 0 && box.right == double(source.width) &&
                         box.bottom == double(source.height);
  if (filter == Filter::nearest || unchanged) return resize(thread_resampler(), source, spec, out);

  if (Status views = check_views(source, spec, out); !views) return views;
  Resampler& resampler = thread_resampler();
  ImageSink sink(out);
  if (Status begun = resampler.begin(spec, sink); !begun) return begun;
  const std::int64_t skip = resampler.first_col() * source.channels;
  const std::int64_t pixels = resampler.last_col() - resampler.first_col() + 1;
  thread_local std::vector<std::uint8_t> multiplied;
  try {
    multiplied.resize(
        std::max(multiplied.size(), static_cast<std::size_t>(pixels * source.channels)));
  } catch (const std::bad_alloc&) {
    return Error(Code::out_of_memory, "no memory for one row of the image");
  }
  for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
    premultiply(source.row(y) + skip, pixels, source.channels, multiplied.data());
    resampler.push_row(multiplied.data());
  }
  for (std::int64_t y = 0; y < out.height; ++y)
    unpremultiply(out.row(y), out.width, out.channels, out.row(y));
  return {};
}

}  // namespace penstock

#include "media/image/pixel_writer.h"

namespace penstock {

Result<PixelMemory> FixedTarget::place(const ImageShape& shape) {
  if (shape.height != view_.height || shape.width != view_.width ||
      shape.channels != view_.channels || shape.bits != 8) {
    const auto text = [](std::int64_t h, std::int64_t w, int c) {
      return std::to_string(h) + " x " + std::to_string(w) + " x " + std::to_string(c);
    };
    return Error(Code::invalid_argument,
                 "the image is " + text(shape.height, shape.width, shape.channels) + " with " +
                     std::to_string(shape.bits) + " bits; the given memory is for " +
                     text(view_.height, view_.width, view_.channels) + " with 8 bits");
  }
  return PixelMemory{view_.data, view_.row_bytes};
}

namespace media {

Status check_indices(PixelMode mode, Native native) {
  if (mode != PixelMode::index || native == Native::l) return {};
  return Error(Code::invalid_argument,
               "the picture has neither a palette nor 8-bit grey, so it has no indices");
}

Status PixelWriter::begin(std::int64_t width, std::int64_t height, Native native) {
  native_ = native;
  if (Status s = check_indices(mode_, native); !s) return s;
  const bool unchanged = mode_ == PixelMode::unchanged;
  shape_ = {height, width, unchanged ? channels_of(native) : penstock::channels_of(mode_),
            unchanged ? bits_of(native) : 8, has_alpha(native, mode_)};
  Result<PixelMemory> memory = target_.place(shape_);
  if (!memory) return std::move(memory).error();
  memory_ = *memory;
  if (!same_pixels(native, mode_)) {
    line_.emplace(ScratchUse::line, std::size_t(width) * 8);
    if (!*line_) return Error(Code::out_of_memory, "no memory for a row of pixels");
  }
  return {};
}

void PixelWriter::convert(std::int64_t y) {
  std::uint8_t* line = line_->data();
  Native native = native_;
  if (bits_of(native) == 16) native = reduce_to_8_bits(line, native, shape_.width, line);
  convert_row(line, native, shape_.width, mode_, memory_.data + y * memory_.row_bytes);
}

}  // namespace media
}  // namespace penstock

// ImageOp: a transform as a value. Pipelines, datasets and Python hold transforms this way and call
// them all alike; the functions they stand on are in the other headers of this room.
//
// An op takes an 8-bit image of 1 (L), 2 (LA), 3 (RGB) or 4 (RGBA) channels and fills memory that
// the caller provides once result() has said how much. Ops are made by the functions below, which
// refuse arguments that can never work; what depends on the image is refused by result() or apply.
//
// Random ops draw from the stream they are given and from nothing else, so the caller decides what
// a result depends on: RandomStream(RandomKey(seed, epoch), position, ordinal of the op).
//
// Thread safety: an op does not change once it is made; any number of threads may use one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "penstock/dtype.h"
#include "penstock/error.h"
#include "penstock/image.h"
#include "penstock/random.h"
#include "penstock/tensor.h"
#include "transform/colour.h"
#include "transform/crop.h"
#include "transform/finish.h"
#include "transform/pad.h"
#include "transform/random_crop.h"

namespace penstock {

struct ImageOp {
  // A contiguous array.
  struct Result {
    DType type = DType::uint8;
    Dims shape;  // (height, width) for one channel, else (height, width, channels); see normalize
  };

  std::string name;
  bool random = false;
  // What becomes of an image of this size; its pixels are not looked at.
  std::function<penstock::Result<Result>(const ConstImageView& image)> result;
  // `out` has room for that, aligned to its type, and does not overlap the image.
  std::function<Status(const ConstImageView& image, RandomStream& random, void* out)> apply;
};

// To a size, or to a length of the short side. With alpha, colours are weighted by it, as Pillow
// does. `box` is the part of the image to take; empty means all of it.
Result<ImageOp> resize_op(Size size, Filter filter, std::optional<Box> box);
Result<ImageOp> resize_short_op(std::int64_t side, Filter filter);

Result<ImageOp> crop_op(Rect rect);
Result<ImageOp> center_crop_op(Size size);
Result<ImageOp> pad_op(const PadSpec& spec);
ImageOp flip_op(bool vertical);
ImageOp rotate90_op(int turns);  // against the clock

// From what the number of channels says, or from `from`.
Result<ImageOp> convert_op(Colour to, std::optional<Colour> from);
ImageOp grayscale_op();  // keeps the channels

Result<ImageOp> brightness_op(double factor);
Result<ImageOp> contrast_op(double factor);
Result<ImageOp> saturation_op(double factor);

// Type and layout in one pass; always three dimensions. Floating values are 0 to 255, or, where
// `mean` and `std` are not empty, (x / 255 - mean) / std.
Result<ImageOp> normalize_op(DType type, ImageLayout layout, std::vector<double> mean,
                             std::vector<double> std);

// A crop of random area and shape, resized; see draw_resized_crop.
Result<ImageOp> random_resized_crop_op(Size size, const ResizedCropRange& range, Filter filter);
Result<ImageOp> random_crop_op(Size size);
Result<ImageOp> random_flip_op(double probability, bool vertical);
// Strengths of brightness, contrast and saturation; see draw_jitter.
Result<ImageOp> color_jitter_op(const std::array<double, 3>& strength);

}  // namespace penstock

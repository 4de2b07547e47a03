// Images from compressed bytes and back: decode_image, image_info, encode_image and the fused
// decode_crop_resize.
//
// The format is found from the bytes, never from a name. An 8-bit result in a given mode is equal,
// byte for byte, to Pillow's Image.open(file).convert(mode), on intact files. That includes its
// treatment of 16-bit samples: colour keeps the high byte, 16-bit grey is clipped at 255. Use
// PixelMode::unchanged for the full 16 bits.
//
// A decoder never trusts its input: dimensions are checked against max_pixels before anything is
// allocated, and a damaged file gives Error(corrupt), a variant we cannot read Error(unsupported).
//
// Thread safety: every function may be called from any thread at any time. Decoder objects and
// scratch memory are kept per thread and reused. A PixelTarget is called in the caller's thread and
// must not decode in its turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

enum class ImageFormat : std::uint8_t { jpeg, png, webp, tiff, bmp, gif, pnm };

// "jpeg", "png", ...
std::string_view name_of(ImageFormat format) noexcept;

enum class PixelMode : std::uint8_t {
  rgb,
  rgba,  // alpha is 255 where the file has none
  l,     // grey: Pillow's ITU-R 601-2 weights
  bgr,
  unchanged,  // the file's own channels and depth: L, LA, RGB, RGBA or CMYK, 8 or 16 bits;
              // palettes are expanded, 1, 2 and 4 bits are scaled to 8
  index,      // what masks need: palette indices, or grey where there is no palette; an Error for
              // colour
};

// Channels of a mode; 0 for unchanged.
int channels_of(PixelMode mode) noexcept;

// What the header says. Nothing of the picture is decoded.
struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  std::int64_t width = 0;  // as stored, before orientation
  std::int64_t height = 0;
  int channels = 0;     // of PixelMode::unchanged
  int bits = 8;         // bits per sample in the file: 1, 2, 4, 8 or 16
  int orientation = 1;  // EXIF 1..8; 1 where absent or invalid

  // With orientation applied.
  std::int64_t upright_width() const { return orientation > 4 ? height : width; }
  std::int64_t upright_height() const { return orientation > 4 ? width : height; }
};

inline constexpr std::int64_t kMaxPixels = 178'956'970;  // where Pillow stops, too

struct DecodeOptions {
  PixelMode mode = PixelMode::rgb;
  // Damage that a decoder can talk its way around (a JPEG that ends early, garbage between
  // markers) is an Error when true; when false the result is what the library makes of it.
  bool strict = true;
  bool apply_orientation = false;
  std::int64_t max_pixels = kMaxPixels;
};

struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  int channels = 0;
  int bits = 8;        // 8, or 16 in native byte order (PixelMode::unchanged only)
  bool alpha = false;  // the last channel is alpha

  std::int64_t row_bytes() const { return width * channels * (bits / 8); }
  std::int64_t bytes() const { return height * row_bytes(); }
  bool operator==(const ImageShape&) const = default;
};

struct PixelMemory {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t row_bytes = 0;  // distance between rows; may be negative
};

// Provides memory once the size is known.
class PixelTarget {
 public:
  virtual ~PixelTarget() = default;
  // Called at most once per decode, before any pixel is written. An Error ends the decode.
  virtual Result<PixelMemory> place(const ImageShape& shape) = 0;
};

// Memory the caller already has: the image must have exactly its size and channels.
class FixedTarget final : public PixelTarget {
 public:
  explicit FixedTarget(ImageView view) : view_(view) {}
  Result<PixelMemory> place(const ImageShape& shape) override;

 private:
  ImageView view_;
};

Result<ImageInfo> image_info(std::span<const std::byte> bytes);

// The whole picture. Answers the shape of what was written.
Result<ImageShape> decode_image(std::span<const std::byte> bytes, const DecodeOptions& options,
                                PixelTarget& target);

// A rectangle of the picture (in upright pixels when orientation is applied), equal to the same
// rectangle of decode_image. A JPEG is decoded only where the rectangle is.
Result<ImageShape> decode_image_region(std::span<const std::byte> bytes, Rect region,
                                       const DecodeOptions& options, PixelTarget& target);

// Crop, then resize the crop, then keep a part of the result.
struct CropResize {
  Rect
      crop;  // of the picture, in upright pixels when orientation is applied; empty means all of it
  std::int64_t out_width = 0;
  std::int64_t out_height = 0;
  Rect keep;  // of the out_width x out_height result; empty means all of it
  Filter filter = Filter::bilinear;
  bool mirror = false;  // what is kept, left to right
  // True: the pixels of Pillow's convert(mode).crop(crop).resize(out, filter).crop(keep), bit for
  // bit. False: a JPEG may be decoded at 1/2, 1/4 or 1/8 where at least min_left times the target's
  // resolution remains, planes may be resized before colours are made, and grey is the file's own.
  bool exact = true;
  double min_left = 1.5;
};

// Says what to cut out once the header is known: a random crop needs the size first.
class CropPlanner {
 public:
  virtual ~CropPlanner() = default;
  virtual Result<CropResize> plan(const ImageInfo& info) = 0;
};

// Decodes only what the result needs and resizes it row by row as it is decoded.
Result<ImageShape> decode_crop_resize(std::span<const std::byte> bytes,
                                      const DecodeOptions& options, const CropResize& plan,
                                      PixelTarget& target);
Result<ImageShape> decode_crop_resize(std::span<const std::byte> bytes,
                                      const DecodeOptions& options, CropPlanner& planner,
                                      PixelTarget& target);

enum class Subsampling : std::uint8_t { s444, s422, s420 };

struct EncodeOptions {
  ImageFormat format = ImageFormat::jpeg;       // jpeg, png or webp
  int quality = 75;                             // jpeg, webp: 1..100
  Subsampling subsampling = Subsampling::s420;  // jpeg
  bool progressive = false;                     // jpeg
  int level = 6;                                // png: 0 (stored) .. 12 (slowest)
  bool lossless = false;                        // webp
};

// 1 (L), 3 (RGB) or 4 (RGBA) channels; LA (2) for PNG only, and no alpha for JPEG.
Result<std::vector<std::byte>> encode_image(ConstImageView image, const EncodeOptions& options);

}  // namespace penstock

// A rectangle of a picture, upright, in a mode: what crops and resizes are made from.
//
// Thread safety: pure functions over the calling thread's decoder and scratch.
#pragma once

#include <cstdint>
#include <optional>

#include "media/image/codecs.h"
#include "penstock/media.h"

namespace penstock::media {

// Orientation 1 unless it is asked for. TIFF's is part of how the pixels are stored, so it is
// always applied, as by Pillow.
int orientation_to_apply(const ImageInfo& info, const DecodeOptions& options);

// Memory of the calling thread's scratch, valid as long as the object.
class ScratchTarget final : public PixelTarget {
 public:
  explicit ScratchTarget(ScratchUse use) : use_(use) {}
  Result<PixelMemory> place(const ImageShape& shape) override;
  const std::uint8_t* data() const { return lease_->data(); }

 private:
  ScratchUse use_;
  std::optional<ScratchLease> lease_;
};

// The crop of the picture, upright if asked for, in the thread's scratch: `whole` and `cut` must
// outlive the view. Any depth: the view's channels are `shape`'s, its rows are in bytes.
struct DecodedCrop {
  const std::uint8_t* data = nullptr;
  std::int64_t row_bytes = 0;
  ImageShape shape;
};
Result<DecodedCrop> decode_crop(const Codec& codec, Bytes bytes, const ImageInfo& info, Rect crop,
                                const DecodeOptions& options, ScratchTarget& whole,
                                ScratchTarget& cut);

Status check_region(Rect region, std::int64_t width, std::int64_t height);

}  // namespace penstock::media

// A rectangle of a picture, in a mode, row by row: what crops and resizes are made from.
//
// Thread safety: pure functions over the calling thread's decoder and scratch.
#pragma once

#include <cstdint>

#include "media/image/codecs.h"
#include "penstock/media.h"

namespace penstock::media {

// Orientation 1 unless it is asked for. TIFF's is part of how the pixels are stored, so it is
// always applied, as by Pillow.
int orientation_to_apply(const ImageInfo& info, const DecodeOptions& options);

// The region of the picture as stored, through `target`; orientation is not applied. The region
// must lie inside the picture.
Result<ImageShape> decode_stored_region(const Codec& codec, Bytes bytes, Rect region,
                                        const DecodeOptions& options, PixelTarget& target);

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

Status check_region(Rect region, std::int64_t width, std::int64_t height);

}  // namespace penstock::media

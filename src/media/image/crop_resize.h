// The fused path: compressed bytes in, finished rows of the resized crop out, nothing in between
// but a few rows in cache.
//
// Thread safety: any thread; works in the calling thread's decoder, resampler and scratch.
#pragma once

#include "media/image/codecs.h"
#include "penstock/media.h"
#include "transform/resample.h"

namespace penstock::media {

// Receives the shape before the first row, then rows of interleaved 8-bit pixels in order. Where a
// file turns out to be damaged rows may begin again with the first one.
class FinishedRows : public RowSink {
 public:
  virtual Status begin(const ImageShape& shape) = 0;
};

Result<ImageShape> crop_resize(Bytes bytes, const DecodeOptions& options, CropPlanner& planner,
                               FinishedRows& rows);

}  // namespace penstock::media

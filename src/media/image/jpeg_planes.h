// PlaneDecoder: the planes of a baseline JPEG as they leave the inverse transform, before chroma is
// brought to the size of luma and colours are made.
//
// It reads with ScanDecoder and transforms with libjpeg's own routines, one row of MCUs after the
// other, only the blocks that are wanted. Each plane may have its own scale. It knows pictures of
// luma and two planes of chroma that share a size, and nothing of damage: it gives up, and the
// caller reads the picture in another way from its beginning.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "media/image/jpeg_reader.h"
#include "media/image/jpeg_scan.h"
#include "penstock/image.h"
#include "transform/scratch.h"

namespace penstock::media {

// Zeros: PlaneDecoder does not know such a picture.
ChromaFactors chroma_factors(const jpeg_decompress_struct& cinfo);

class PlaneDecoder {
 public:
  // What to set before jpeg_start_decompress.
  static void prepare(jpeg_decompress_struct& cinfo);
  // After it. May leave by libjpeg's error exit. False: not for this picture, or no memory.
  bool begin(jpeg_decompress_struct& cinfo, ScanDecoder& scan, const JpegPlane& luma,
             const JpegPlane& chroma);

  // Goes on to the next row of MCUs that is wanted. False: it gives up, or there are no more.
  bool next();
  // What next() gave of plane 0 (luma), 1 or 2.
  PlaneRows rows(int plane) const;

 private:
  static constexpr int kPlanes = 3;
  struct Plane {
    jpeg_component_info* info = nullptr;
    Rect region;
    std::int64_t size = 8;                        // samples on a side of a block
    std::int64_t first_block = 0, end_block = 0;  // columns of blocks
    std::ptrdiff_t row_bytes = 0;
    Scratch<std::uint8_t> samples;  // one row of MCUs, from first_block on
    JSAMPROW rows[MAX_SAMP_FACTOR * DCTSIZE] = {};
    bool wanted[MAX_SAMP_FACTOR] = {};  // which rows of blocks, of the current MCUs
    std::int64_t mcu_width() const { return size * info->h_samp_factor; }
    std::int64_t mcu_height() const { return size * info->v_samp_factor; }
  };

  bool read_over(std::int64_t mcus);
  bool any_wanted();
  void transform(std::int64_t col);

  jpeg_decompress_struct* cinfo_ = nullptr;
  ScanDecoder* scan_ = nullptr;
  Plane planes_[kPlanes];
  std::int64_t mcu_row_ = 0, end_row_ = 0;  // of MCUs, the next and the last wanted
  std::int64_t first_col_ = 0, end_col_ = 0;
  alignas(64) JBLOCK blocks_[D_MAX_BLOCKS_IN_MCU];
  JBLOCKROW block_rows_[D_MAX_BLOCKS_IN_MCU];
};

}  // namespace penstock::media

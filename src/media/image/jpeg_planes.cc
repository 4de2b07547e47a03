#include "media/image/jpeg_planes.h"

#include <algorithm>
#include <cstring>
#include <new>

// From libjpeg's jpegint.h, which is not installed. The same in libjpeg-turbo 2 and 3.
struct jpeg_inverse_dct {
  void (*start_pass)(j_decompress_ptr cinfo);
  void (*inverse_DCT[MAX_COMPONENTS])(j_decompress_ptr cinfo, jpeg_component_info* info,
                                      JCOEFPTR block, JSAMPARRAY rows, JDIMENSION col);
};

namespace penstock::media {
namespace {

int block_size(const jpeg_component_info& info) {
#if JPEG_LIB_VERSION >= 70
  return info.DCT_h_scaled_size;
#else
  return info.DCT_scaled_size;
#endif
}

void set_block_size(jpeg_component_info& info, int size) {
#if JPEG_LIB_VERSION >= 70
  info.DCT_h_scaled_size = info.DCT_v_scaled_size = size;
#else
  info.DCT_scaled_size = size;
#endif
}

}  // namespace

ChromaFactors chroma_factors(const jpeg_decompress_struct& cinfo) {
  if (cinfo.jpeg_color_space != JCS_YCbCr || cinfo.num_components != 3 || cinfo.progressive_mode ||
      cinfo.comps_in_scan != 3) {
    return {};
  }
  const jpeg_component_info &y = cinfo.comp_info[0], &u = cinfo.comp_info[1],
                            &v = cinfo.comp_info[2];
  if (u.h_samp_factor != v.h_samp_factor || u.v_samp_factor != v.v_samp_factor ||
      y.h_samp_factor % u.h_samp_factor != 0 || y.v_samp_factor % u.v_samp_factor != 0) {
    return {};
  }
  return {y.h_samp_factor / u.h_samp_factor, y.v_samp_factor / u.v_samp_factor};
}

void PlaneDecoder::prepare(jpeg_decompress_struct& cinfo) {
  cinfo.scale_num = cinfo.scale_denom = 1;
  cinfo.out_color_space = JCS_YCbCr;
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.raw_data_out = TRUE;  // so that libjpeg prepares nothing for pixels
}

bool PlaneDecoder::begin(jpeg_decompress_struct& cinfo, ScanDecoder& scan, const JpegPlane& luma,
                         const JpegPlane& chroma) {
  if (!scan.begin(cinfo)) return false;
  cinfo_ = &cinfo;
  scan_ = &scan;
  mcu_row_ = end_row_ = end_col_ = 0;
  first_col_ = cinfo.MCUs_per_row;
  bool scaled = false;
  for (int i = 0; i < kPlanes; ++i) {
    Plane& plane = planes_[i];
    const JpegPlane& asked = i == 0 ? luma : chroma;
    plane.info = cinfo.comp_info + i;
    if (cinfo.cur_comp_info[i] != plane.info || block_size(*plane.info) != DCTSIZE) return false;
    plane.size = DCTSIZE / asked.scale;
    plane.region = asked.region;
    scaled = scaled || asked.scale != 1;
    set_block_size(*plane.info, int(plane.size));
    const std::int64_t end_x = asked.region.x + asked.region.width;
    const std::int64_t end_y = asked.region.y + asked.region.height;
    plane.first_block = asked.region.x / plane.size;
    plane.end_block = (end_x + plane.size - 1) / plane.size;
    first_col_ = std::min(first_col_, asked.region.x / plane.mcu_width());
    end_col_ = std::max(end_col_, (end_x + plane.mcu_width() - 1) / plane.mcu_width());
    end_row_ = std::max(end_row_, (end_y + plane.mcu_height() - 1) / plane.mcu_height());
    plane.row_bytes = ((plane.end_block - plane.first_block) * plane.size + 63) / 64 * 64;
    std::uint8_t* samples = nullptr;
    try {
      samples = plane.samples.reserve(std::size_t(plane.row_bytes * plane.mcu_height()));
    } catch (const std::bad_alloc&) {
      return false;
    }
    for (std::int64_t y = 0; y < plane.mcu_height(); ++y) {
      plane.rows[y] = samples + y * plane.row_bytes;
    }
  }
  if (end_col_ > cinfo.MCUs_per_row || end_row_ > cinfo.MCU_rows_in_scan) return false;
  for (int i = 0; i < D_MAX_BLOCKS_IN_MCU; ++i) block_rows_[i] = &blocks_[i];
  if (scaled) cinfo.idct->start_pass(&cinfo);  // chooses transforms by size
  return true;
}

// Whether the current row of MCUs has rows of any region.
bool PlaneDecoder::any_wanted() {
  bool any = false;
  for (Plane& plane : planes_) {
    const Rect& region = plane.region;
    std::int64_t top = mcu_row_ * plane.mcu_height();
    for (int y = 0; y < plane.info->v_samp_factor; ++y, top += plane.size) {
      plane.wanted[y] = top < region.y + region.height && top + plane.size > region.y;
      any = any || plane.wanted[y];
    }
  }
  return any;
}

bool PlaneDecoder::read_over(std::int64_t mcus) {
  for (; mcus > 0; --mcus) {
    if (!scan_->next_mcu(nullptr)) return false;
  }
  return true;
}

void PlaneDecoder::transform(std::int64_t col) {
  const JBLOCK* block = blocks_;
  for (int i = 0; i < kPlanes; ++i) {
    Plane& plane = planes_[i];
    const auto inverse = cinfo_->idct->inverse_DCT[i];
    for (int y = 0; y < plane.info->v_samp_factor; ++y) {
      for (int x = 0; x < plane.info->h_samp_factor; ++x, ++block) {
        const std::int64_t at = col * plane.info->h_samp_factor + x;
        if (!plane.wanted[y] || at < plane.first_block || at >= plane.end_block) continue;
        inverse(cinfo_, plane.info, const_cast<JCOEFPTR>(*block), plane.rows + y * plane.size,
                JDIMENSION((at - plane.first_block) * plane.size));
      }
    }
  }
}

bool PlaneDecoder::next() {
  const std::int64_t cols = cinfo_->MCUs_per_row;
  for (; mcu_row_ < end_row_ && !any_wanted(); ++mcu_row_) {
    if (!read_over(cols)) return false;
  }
  if (mcu_row_ >= end_row_ || !read_over(first_col_)) return false;
  const std::size_t bytes = sizeof(JBLOCK) * std::size_t(cinfo_->blocks_in_MCU);
  for (std::int64_t col = first_col_; col < end_col_; ++col) {
    std::memset(blocks_, 0, bytes);
    if (!scan_->next_mcu(block_rows_)) return false;
    transform(col);
  }
  ++mcu_row_;
  // Behind the last one nothing is read, unless the file should end there.
  const bool to_end = mcu_row_ == std::int64_t(cinfo_->MCU_rows_in_scan);
  if (mcu_row_ < end_row_ || to_end) {
    if (!read_over(cols - end_col_)) return false;
  }
  return !to_end || scan_->at_end();
}

PlaneRows PlaneDecoder::rows(int i) const {
  const Plane& plane = planes_[i];
  const Rect& region = plane.region;
  const std::int64_t top = (mcu_row_ - 1) * plane.mcu_height();
  const std::int64_t from = std::max(region.y, top);
  const std::int64_t end = std::min(region.y + region.height, top + plane.mcu_height());
  if (from >= end) return {};
  return {plane.rows[from - top] + (region.x - plane.first_block * plane.size), plane.row_bytes,
          end - from};
}

}  // namespace penstock::media

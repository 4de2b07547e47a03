#include "media/image/crop_planes.h"

#include <algorithm>

#include "media/image/crop_plan.h"
#include "media/image/scratch.h"
#include "transform/ycbcr.h"

namespace penstock::media {
namespace {

// Resized planes wait here for each other, so they are not for huge results.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 21;

// How much of the result's resolution remains in chroma, at least, if the file has it: eyes and
// subsampled files do with less of it.
double chroma_left(double min_left) {
  return std::max(1.0, min_left / 1.5);
}

// Takes the rows of one resampler and keeps them.
class KeptRows final : public RowSink {
 public:
  KeptRows(std::uint8_t* data, std::int64_t row_bytes) : data_(data), row_bytes_(row_bytes) {}
  std::uint8_t* place(std::int64_t y) override { return data_ + y * row_bytes_; }
  void take(std::int64_t y, const std::uint8_t*) override { count_ = y + 1; }

  const std::uint8_t* row(std::int64_t y) const { return data_ + y * row_bytes_; }
  std::int64_t count() const { return count_; }

 private:
  std::uint8_t* data_;
  std::int64_t row_bytes_;
  std::int64_t count_ = 0;
};

// A resampler, what is read for it, and what it makes.
struct PlaneResize {
  Resampler& resampler;
  KeptRows out;
  JpegPlane source;

  bool begin(const CropResize& plan, const JpegHeader& header, ChromaFactors factors, int planes,
             double min_left) {
    const CropResize& p = plan;
    source.scale = decode_scale(p.crop.width / factors.x, p.crop.height / factors.y, p.out_width,
                                p.out_height, min_left);
    ScaledCrop scaled = scale_crop(p, header.width, header.height,
                                   {factors.x * source.scale, factors.y * source.scale}, 1);
    scaled.spec.planes = planes;
    if (!resampler.begin(scaled.spec, out)) return false;
    source.region = {scaled.region.x + resampler.first_col(),
                     scaled.region.y + resampler.first_row(),
                     resampler.last_col() - resampler.first_col() + 1,
                     resampler.last_row() - resampler.first_row() + 1};
    return true;
  }
};

}  // namespace

bool resize_planes(JpegReader& reader, const CropResize& plan, JpegColour colour,
                   FinishedRows& rows) {
  const JpegHeader& header = reader.header();
  const std::int64_t width = plan.keep.width, height = plan.keep.height;
  if (plan.exact || plan.filter == Filter::nearest || header.chroma.x == 0 ||
      (colour != JpegColour::rgb && colour != JpegColour::bgr) || width > kMostPixels / height) {
    return false;
  }
  const std::size_t pixels = std::size_t(width * height);
  ScratchLease kept(ScratchUse::result, pixels * 3);
  ScratchLease line(ScratchUse::line, std::size_t(width) * 3);
  if (!kept || !line) return false;
  thread_local Resampler luma_resampler, chroma_resampler;
  PlaneResize luma{luma_resampler, {kept.data(), width}, {}};
  PlaneResize chroma{chroma_resampler, {kept.data() + pixels, 2 * width}, {}};
  if (!luma.begin(plan, header, {1, 1}, 1, plan.min_left) ||
      !chroma.begin(plan, header, header.chroma, 2, chroma_left(plan.min_left)) ||
      !reader.start_planes(luma.source, chroma.source)) {
    return false;
  }
  for (std::int64_t y = 0; y < height;) {
    if (!reader.next_planes()) return false;
    const PlaneRows all[3] = {reader.plane_rows(0), reader.plane_rows(1), reader.plane_rows(2)};
    for (std::int64_t i = 0; i < all[1].count; ++i) {
      const std::uint8_t* pair[2] = {all[1].data + i * all[1].row_bytes,
                                     all[2].data + i * all[2].row_bytes};
      chroma.resampler.push_rows(pair);
    }
    for (std::int64_t i = 0; i < all[0].count; ++i) {
      luma.resampler.push_row(all[0].data + i * all[0].row_bytes);
    }
    for (const std::int64_t end = std::min(luma.out.count(), chroma.out.count()); y < end; ++y) {
      std::uint8_t* to = rows.place(y);
      if (to == nullptr) to = line.data();
      const std::uint8_t* const cb = chroma.out.row(y);
      ycbcr_pixels(luma.out.row(y), cb, cb + width, width, colour == JpegColour::bgr, to);
      rows.take(y, to);
    }
  }
  return true;
}

}  // namespace penstock::media

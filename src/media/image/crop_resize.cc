#include "media/image/crop_resize.h"

#include <algorithm>

#include "media/image/crop_plan.h"
#include "media/image/crop_planes.h"
#include "media/image/jpeg.h"
#include "media/image/region.h"
#include "transform/premultiply.h"

namespace penstock::media {
namespace {

Resampler& resampler_of_thread() {
  thread_local Resampler resampler;
  return resampler;
}

ImageShape kept_shape(const CropResize& plan, int channels, bool alpha) {
  return {plan.keep.height, plan.keep.width, channels, 8, alpha};
}

// Reads the rows the resampler needs and pushes each while it is in cache.
Status push_jpeg_rows(JpegReader& reader, JpegSetup setup, PixelMode mode, Resampler& resampler) {
  const std::int64_t first = resampler.first_col();
  setup.region = {setup.region.x + first, setup.region.y + resampler.first_row(),
                  resampler.last_col() - first + 1,
                  resampler.last_row() - resampler.first_row() + 1};
  if (Status s = reader.start(setup); !s) return s;
  const std::size_t row_bytes = std::size_t(reader.row_width()) * std::size_t(reader.channels());
  const std::size_t skip =
      std::size_t(setup.region.x - reader.first_col()) * std::size_t(reader.channels());
  const std::int64_t at_once = reader.rows_at_once();
  const Native native = native_of(setup.colour);
  const bool convert = !same_pixels(native, mode);
  ScratchLease rows(ScratchUse::rows, row_bytes * std::size_t(at_once));
  ScratchLease line(ScratchUse::line, convert ? std::size_t(setup.region.width) * 4 : 0);
  if (!rows || !line) return Error(Code::out_of_memory, "JPEG: no memory for rows");
  for (std::int64_t left = setup.region.height; left > 0;) {
    const std::int64_t count = std::min(at_once, left);
    if (Status s = reader.read_rows(rows.data(), std::ptrdiff_t(row_bytes), count); !s) return s;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::uint8_t* row = rows.data() + row_bytes * std::size_t(r) + skip;
      if (convert) {
        convert_row(row, native, setup.region.width, mode, line.data());
        row = line.data();
      }
      resampler.push_row(row);
    }
    left -= count;
  }
  return reader.finish();
}

// `reader` has read the header. Modes whose channels are resampled independently only.
Result<ImageShape> resize_jpeg(JpegReader& reader, const CropResize& plan, PixelMode mode,
                               FinishedRows& rows) {
  const JpegHeader& header = reader.header();
  JpegSetup setup;
  setup.colour = jpeg_colour(header, mode, plan.exact);
  if (Status s = check_indices(mode, native_of(setup.colour)); !s) return std::move(s).error();
  setup.fancy = plan.exact;
  if (!plan.exact && plan.filter != Filter::nearest) {
    setup.scale = decode_scale(plan.crop.width, plan.crop.height, plan.out_width, plan.out_height,
                               plan.min_left);
  }
  const int channels =
      mode == PixelMode::unchanged ? channels_of(native_of(setup.colour)) : channels_of(mode);
  const ScaledCrop scaled =
      scale_crop(plan, header.width, header.height, {setup.scale, setup.scale}, channels);
  setup.region = scaled.region;
  const ImageShape shape = kept_shape(plan, channels, false);
  if (Status s = rows.begin(shape); !s) return std::move(s).error();
  if (resize_planes(reader, plan, setup.colour, rows)) {
    if (Status s = reader.finish(); !s) return std::move(s).error();
    return shape;
  }
  Resampler& resampler = resampler_of_thread();
  if (Status s = resampler.begin(scaled.spec, rows); !s) return std::move(s).error();
  if (Status s = push_jpeg_rows(reader, setup, mode, resampler); !s) return std::move(s).error();
  return shape;
}

// Hands rows on whose colours are multiplied by alpha, divided by it.
class DividedRows final : public RowSink {
 public:
  // `line` has room for a row.
  DividedRows(FinishedRows& rows, std::int64_t width, int channels, std::uint8_t* line)
      : rows_(rows), width_(width), channels_(channels), line_(line) {}
  std::uint8_t* place(std::int64_t y) override {
    std::uint8_t* const to = rows_.place(y);
    return to_ = to != nullptr ? to : line_;
  }
  void take(std::int64_t y, const std::uint8_t* row) override {
    unpremultiply(row, width_, channels_, to_);
    rows_.take(y, to_);
  }

 private:
  FinishedRows& rows_;
  const std::int64_t width_;
  const int channels_;
  std::uint8_t* const line_;
  std::uint8_t* to_ = nullptr;
};

// Colour is multiplied by alpha for the resize, as Pillow does it.
Status resize_with_alpha(const DecodedCrop& crop, const ResizeSpec& spec, FinishedRows& rows) {
  const std::size_t pixel = std::size_t(spec.channels);
  ScratchLease result(ScratchUse::result, std::size_t(spec.keep.width) * pixel);
  ScratchLease multiplied(ScratchUse::line, std::size_t(spec.src_width) * pixel);
  if (!result || !multiplied) return Error(Code::out_of_memory, "no memory for two rows");
  DividedRows divided(rows, spec.keep.width, spec.channels, result.data());
  Resampler& resampler = resampler_of_thread();
  if (Status s = resampler.begin(spec, divided); !s) return s;
  const std::int64_t columns = resampler.last_col() - resampler.first_col() + 1;
  const std::uint8_t* from = crop.data + resampler.first_col() * spec.channels;
  for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
    premultiply(from + y * crop.row_bytes, columns, spec.channels, multiplied.data());
    resampler.push_row(multiplied.data());
  }
  return {};
}

// From a decoded crop. 16-bit pixels can be moved, not mixed.
Result<ImageShape> resize_decoded(const DecodedCrop& crop, const CropResize& plan,
                                  FinishedRows& rows) {
  const bool nearest = plan.filter == Filter::nearest;
  const int bytes_per_pixel = crop.shape.channels * crop.shape.bits / 8;
  if (crop.shape.bits != 8 && (!nearest || bytes_per_pixel > 4)) {
    return unsupported(
        "16-bit pictures are resized by nearest neighbour only, and up to two "
        "channels; choose a mode other than unchanged");
  }
  ImageShape shape = kept_shape(plan, crop.shape.channels, crop.shape.alpha);
  shape.bits = crop.shape.bits;
  if (Status s = rows.begin(shape); !s) return std::move(s).error();
  CropResize whole = plan;
  whole.crop = {0, 0, crop.shape.width, crop.shape.height};
  const ScaledCrop same =
      scale_crop(whole, crop.shape.width, crop.shape.height, {}, bytes_per_pixel);
  const bool resized = plan.out_width != crop.shape.width || plan.out_height != crop.shape.height;
  if (crop.shape.alpha && !nearest && resized) {
    if (Status s = resize_with_alpha(crop, same.spec, rows); !s) return std::move(s).error();
    return shape;
  }
  Resampler& resampler = resampler_of_thread();
  if (Status s = resampler.begin(same.spec, rows); !s) return std::move(s).error();
  const std::int64_t offset = resampler.first_col() * bytes_per_pixel;
  for (std::int64_t y = resampler.first_row(); y <= resampler.last_row(); ++y) {
    resampler.push_row(crop.data + y * crop.row_bytes + offset);
  }
  return shape;
}

// Gives the whole picture's rows to memory that a PixelTarget provides.
class RowsToTarget final : public FinishedRows {
 public:
  explicit RowsToTarget(PixelTarget& target) : target_(target) {}
  Status begin(const ImageShape& shape) override {
    Result<PixelMemory> memory = target_.place(shape);
    if (!memory) return std::move(memory).error();
    memory_ = *memory;
    return {};
  }
  std::uint8_t* place(std::int64_t y) override { return memory_.data + y * memory_.row_bytes; }
  void take(std::int64_t, const std::uint8_t*) override {}

 private:
  PixelTarget& target_;
  PixelMemory memory_;
};

class FixedPlan final : public CropPlanner {
 public:
  explicit FixedPlan(const CropResize& plan) : plan_(plan) {}
  Result<CropResize> plan(const ImageInfo&) override { return plan_; }

 private:
  const CropResize& plan_;
};

}  // namespace

Result<ImageShape> crop_resize(Bytes bytes, const DecodeOptions& options, CropPlanner& planner,
                               FinishedRows& rows) {
  Result<const Codec*> codec = find_codec(bytes);
  if (!codec) return std::move(codec).error();
  // A JPEG's header is read once, for the plan and for the decoder.
  const bool jpeg = (*codec)->format == ImageFormat::jpeg;
  JpegReader& reader = JpegReader::of_thread();
  ImageInfo info;
  if (jpeg) {
    if (Status s = reader.open(bytes, options.strict); !s) return std::move(s).error();
    const JpegHeader& header = reader.header();
    info = {ImageFormat::jpeg,
            header.width,
            header.height,
            header.components,
            8,
            options.apply_orientation ? jpeg_orientation(bytes) : 1};
  } else {
    Result<ImageInfo> read = (*codec)->info(bytes);
    if (!read) return std::move(read).error();
    info = *read;
  }
  if (Status s = check_size(info.width, info.height, options.max_pixels); !s) {
    return std::move(s).error();
  }
  const int orientation = orientation_to_apply(info, options);
  ImageInfo upright = info;
  if (orientation > 4) std::swap(upright.width, upright.height);
  upright.orientation = 1;

  Result<CropResize> planned = planner.plan(upright);
  if (!planned) return std::move(planned).error();
  Result<CropResize> plan = complete(*planned, upright.width, upright.height);
  if (!plan) return std::move(plan).error();
  if (jpeg && orientation == 1 && options.mode != PixelMode::rgba) {
    return resize_jpeg(reader, *plan, options.mode, rows);
  }
  ScratchTarget whole(ScratchUse::whole), cut(ScratchUse::region);
  Result<DecodedCrop> crop = decode_crop(**codec, bytes, info, plan->crop, options, whole, cut);
  if (!crop) return std::move(crop).error();
  return resize_decoded(*crop, *plan, rows);
}

}  // namespace penstock::media

namespace penstock {

Result<ImageShape> decode_crop_resize(std::span<const std::byte> bytes,
                                      const DecodeOptions& options, CropPlanner& planner,
                                      PixelTarget& target) {
  media::RowsToTarget rows(target);
  return media::crop_resize(media::as_bytes(bytes), options, planner, rows);
}

Result<ImageShape> decode_crop_resize(std::span<const std::byte> bytes,
                                      const DecodeOptions& options, const CropResize& plan,
                                      PixelTarget& target) {
  media::FixedPlan planner(plan);
  return decode_crop_resize(bytes, options, planner, target);
}

}  // namespace penstock

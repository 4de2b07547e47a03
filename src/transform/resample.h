// Resampler: Image.resize(size, filter, box) of Pillow 13, bit for bit, one source row at a time.
//
// A decoder asks which rows and columns the result needs, decodes only those and pushes each row
// while it is still in cache; output rows leave as soon as their last tap has arrived. The filter
// reaches past the box into the rest of the source, as Pillow's does. To resize a crop as if
// nothing existed around it (crop first, then resize), describe the crop itself as the source.
//
// Channels are resampled independently (Pillow's modes L, La, RGB, RGBa, RGBX, CMYK). What
// Image.resize does to LA and RGBA, which it premultiplies, is resize_premultiplied.
//
// Thread safety: one thread at a time per Resampler; keep one per thread. It holds its tables and
// row buffers between calls and allocates nothing for a problem that fits what it has seen.
#pragma once

#include <cstdint>
#include <memory>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock {

// Takes finished output rows, in order from 0.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // Where output row y should be written, exactly keep.width * channels * planes bytes, or nullptr
  // to have the row in the resampler's own memory. Called just before take(y, ...).
  virtual std::uint8_t* place(std::int64_t y) {
    (void)y;
    return nullptr;
  }

  // Row y is finished. `row` is what place(y) returned, or memory that lives until this returns.
  virtual void take(std::int64_t y, const std::uint8_t* row) = 0;
};

enum class PassOrder : std::uint8_t {
  pillow,  // as Pillow 13: rows first when the height shrinks by more than twice the width
  horizontal_first,  // as Pillow before 13, always
};

struct ResizeSpec {
  std::int64_t src_width = 0;
  std::int64_t src_height = 0;
  int channels = 3;  // 1 to 4
  // Pictures of one size that are resized together, each from a row of its own; in an output row
  // they stand one behind the other. 1 to 4.
  int planes = 1;
  Box box = {};  // inside the source; see whole() for all of it
  std::int64_t out_width = 0;
  std::int64_t out_height = 0;
  Filter filter = Filter::bilinear;
  // The part of the out_width x out_height result to make; an empty one means all of it. Resize
  // then centre-crop is one spec, and pays only for what is kept.
  Rect keep = {};
  // Which axis comes first shows in the last bit, because pixels are rounded in between.
  PassOrder order = PassOrder::pillow;
  // Mirror the kept part left to right. Costs nothing: the columns are computed in reverse.
  bool mirror = false;

  Box whole() const { return {0, 0, double(src_width), double(src_height)}; }
};

class Resampler {
 public:
  Resampler();
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  // Plans a resize and forgets the one before. An argument that cannot work is an Error that names
  // it. `sink` must outlive the last push_row.
  Status begin(const ResizeSpec& spec, RowSink& sink);

  // The source pixels the result depends on, ends inclusive.
  std::int64_t first_row() const;
  std::int64_t last_row() const;
  std::int64_t first_col() const;
  std::int64_t last_col() const;

  // Takes source row first_row(), then the next, up to last_row(). `row` points at the pixel of
  // column first_col(); nothing after column last_col() is read, and the row may be overwritten
  // once this returns. Pushing more rows than needed is ignored.
  void push_row(const std::uint8_t* row) { push_rows(&row); }
  // The same for several planes: a row of each.
  void push_rows(const std::uint8_t* const* rows);

  // True when every output row has been taken.
  bool done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whole images. `out` gives the size (or, with `keep`, the size of the kept part) and may not
// overlap `source`. The versions without a Resampler use one kept per thread.
Status resize(ConstImageView source, Box box, ImageView out, Filter filter);
Status resize(Resampler& resampler, ConstImageView source, const ResizeSpec& spec, ImageView out);

// What Image.resize does for LA (2 channels) and RGBA (4): colours are multiplied by alpha before
// and divided after, so that transparent pixels do not bleed. Nearest needs none of it.
Status resize_premultiplied(ConstImageView source, Box box, ImageView out, Filter filter);

}  // namespace penstock

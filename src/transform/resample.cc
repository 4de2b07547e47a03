#include "transform/resample.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "transform/nearest.h"
#include "transform/resample_kernels.h"
#include "transform/resize_spec.h"
#include "transform/weights.h"

namespace penstock {

struct Resampler::State {
  ResizePlan plan;
  int channels = 0;
  int planes = 1;
  bool nearest = false;
  bool mirror = false;
  RowSink* sink = nullptr;

  AxisWeights columns;
  AxisWeights lines;
  HorizontalPlan horizontal;
  NearestAxis near_columns;
  NearestAxis near_lines;

  std::int64_t first_row = 0, end_row = 0;
  std::int64_t first_col = 0, end_col = 0;
  std::int64_t next_row = 0;  // the source row push_row expects
  std::int64_t next_out = 0;  // the kept output row to make next

  // The last rows before the vertical pass; source row y sits at y % ring_rows.
  Scratch<std::uint8_t> ring;
  std::int64_t ring_rows = 0;
  std::int64_t ring_stride = 0;
  Scratch<const std::uint8_t*> tap_rows;
  Scratch<std::uint8_t> between;   // one row between a first vertical and the horizontal pass
  Scratch<std::uint8_t> finished;  // one output row, with room for the horizontal pass's overrun

  // Of one plane's row, and of a row of all.
  std::int64_t plane_out() const { return plan.keep.width * channels; }
  std::int64_t plane_src() const { return (end_col - first_col) * channels; }
  std::int64_t out_bytes() const { return plane_out() * planes; }
  std::int64_t src_bytes() const { return plane_src() * planes; }
  std::int64_t ring_bytes() const { return plan.vertical_first ? src_bytes() : out_bytes(); }

  void plan_filtered(const ResizeSpec& spec);
  void plan_nearest(const ResizeSpec& spec);

  void push_filtered(const std::uint8_t* const* rows);
  void push_nearest(const std::uint8_t* const* rows);
  void horizontal_pass(const std::uint8_t* const* rows, std::uint8_t* out);
  void horizontal_exact(const std::uint8_t* const* rows, std::uint8_t* out);
  void vertical_pass(std::uint8_t* out);
  template <class Make>
  void emit(const Make& make);
};

namespace {

void copy_pixels(const std::uint8_t* from, std::int64_t width, int channels, bool mirror,
                 std::uint8_t* to) {
  if (!mirror) {
    std::memcpy(to, from, static_cast<std::size_t>(width * channels));
    return;
  }
  for (std::int64_t x = 0; x < width; ++x)
    std::memcpy(to + x * channels, from + (width - 1 - x) * channels,
                static_cast<std::size_t>(channels));
}

}  // namespace

void Resampler::State::plan_filtered(const ResizeSpec& spec) {
  const Rect& keep = plan.keep;
  if (plan.horizontal) {
    columns.compute(spec.src_width, plan.left, plan.right, spec.out_width, keep.x, keep.width,
                    spec.filter);
    plan_horizontal(columns, channels, mirror, horizontal);
    first_col = columns.lowest();
    end_col = columns.end();
  } else {
    first_col = keep.x;
    end_col = keep.x + keep.width;
  }
  if (plan.vertical) {
    lines.compute(spec.src_height, plan.top, plan.bottom, spec.out_height, keep.y, keep.height,
                  spec.filter);
    first_row = lines.lowest();
    end_row = lines.end();
    ring_rows = std::max(lines.max_count(), 1);
    ring_stride = (ring_bytes() + row_padding + 63) / 64 * 64;
    const auto bytes = static_cast<std::size_t>(ring_rows * ring_stride);
    std::memset(ring.reserve(bytes), 0, bytes);
    tap_rows.reserve(static_cast<std::size_t>(ring_rows + 1));
    if (plan.vertical_first) between.reserve(static_cast<std::size_t>(src_bytes()));
  } else {
    first_row = keep.y;
    end_row = keep.y + keep.height;
  }
  finished.reserve(static_cast<std::size_t>(out_bytes() + row_padding));
}

void Resampler::State::plan_nearest(const ResizeSpec& spec) {
  const Rect& keep = plan.keep;
  near_columns.compute(spec.src_width, plan.left, plan.right, spec.out_width, keep.x, keep.width);
  near_lines.compute(spec.src_height, plan.top, plan.bottom, spec.out_height, keep.y, keep.height);
  first_col = near_columns.lowest();
  end_col = near_columns.end();
  first_row = near_lines.lowest();
  end_row = near_lines.end();
  finished.reserve(static_cast<std::size_t>(out_bytes()));
}

// Hands the next output row, written by make(where), to the sink.
template <class Make>
void Resampler::State::emit(const Make& make) {
  const std::int64_t y = next_out++;
  std::uint8_t* where = sink->place(y);
  if (where == nullptr) where = finished.data();
  make(where);
  sink->take(y, where);
}

// The horizontal pass, or a copy where it changes nothing. May write past the end of `out`; each
// plane overwrites the overrun of the one before.
void Resampler::State::horizontal_pass(const std::uint8_t* const* rows, std::uint8_t* out) {
  for (int p = 0; p < planes; ++p, out += plane_out()) {
    if (plan.horizontal) {
      horizontal.run(rows[p], out);
    } else {
      copy_pixels(rows[p], plan.keep.width, channels, mirror, out);
    }
  }
}

// The same into a row that may not be written past its end.
void Resampler::State::horizontal_exact(const std::uint8_t* const* rows, std::uint8_t* out) {
  if (!plan.horizontal) return horizontal_pass(rows, out);
  horizontal_pass(rows, finished.data());
  if (out != finished.data())
    std::memcpy(out, finished.data(), static_cast<std::size_t>(out_bytes()));
}

// The vertical pass of output row next_out - 1, which emit() has just begun.
void Resampler::State::vertical_pass(std::uint8_t* out) {
  const std::int32_t first = lines.first(next_out - 1);
  const std::int32_t count = lines.count(next_out - 1);
  for (std::int32_t t = 0; t < count; ++t)
    tap_rows[t] = ring.data() + (first + t) % ring_rows * ring_stride;
  tap_rows[count] = tap_rows[0];  // the pair of an odd last row, with weight 0
  resample_rows(tap_rows.data(), lines.pairs(next_out - 1), count, ring_bytes(), out);
}

void Resampler::State::push_filtered(const std::uint8_t* const* rows) {
  if (!plan.vertical) {
    emit([&](std::uint8_t* where) { horizontal_exact(rows, where); });
    return;
  }
  std::uint8_t* slot = ring.data() + next_row % ring_rows * ring_stride;
  if (plan.vertical_first) {
    for (int p = 0; p < planes; ++p, slot += plane_src())
      std::memcpy(slot, rows[p], static_cast<std::size_t>(plane_src()));
  } else {
    horizontal_pass(rows, slot);
  }
  while (next_out < plan.keep.height &&
         lines.first(next_out) + lines.count(next_out) <= next_row + 1) {
    emit([&](std::uint8_t* where) {
      if (!plan.vertical_first) return vertical_pass(where);
      vertical_pass(between.data());
      const std::uint8_t* mixed[max_planes];
      for (int p = 0; p < planes; ++p) mixed[p] = between.data() + p * plane_src();
      horizontal_exact(mixed, where);
    });
  }
}

void Resampler::State::push_nearest(const std::uint8_t* const* rows) {
  const auto pick = [&](std::uint8_t* out) {
    for (int p = 0; p < planes; ++p, out += plane_out()) {
      for (std::int64_t x = 0; x < plan.keep.width; ++x) {
        const std::int32_t from = near_columns.source(mirror ? plan.keep.width - 1 - x : x);
        std::uint8_t* to = out + x * channels;
        for (int c = 0; c < channels; ++c)
          to[c] = from < 0 ? 0 : rows[p][(from - first_col) * channels + c];
      }
    }
  };
  const auto clear = [&](std::uint8_t* out) {
    std::memset(out, 0, static_cast<std::size_t>(out_bytes()));
  };
  while (next_out < plan.keep.height && near_lines.source(next_out) <= next_row) {
    if (near_lines.source(next_out) >= 0) {
      emit(pick);
    } else if (next_row == end_row - 1 || next_out == 0) {
      emit(clear);
    } else {
      break;  // after the last line that has a source
    }
  }
}

Resampler::Resampler() = default;
Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

Status Resampler::begin(const ResizeSpec& spec, RowSink& sink) {
  Result<ResizePlan> plan = check(spec);
  if (!plan) return std::move(plan).error();
  try {
    if (!state_) state_ = std::make_unique<State>();
    State& s = *state_;
    s.plan = *plan;
    s.channels = spec.channels;
    s.planes = spec.planes;
    s.nearest = spec.filter == Filter::nearest;
    s.mirror = spec.mirror;
    s.sink = &sink;
    if (s.nearest) {
      s.plan_nearest(spec);
    } else {
      s.plan_filtered(spec);
    }
    s.next_row = s.first_row;
    s.next_out = 0;
  } catch (const std::bad_alloc&) {
    state_.reset();
    return Error(Code::out_of_memory, "no memory for the tables of this resize");
  }
  return {};
}

std::int64_t Resampler::first_row() const {
  return state_ ? state_->first_row : 0;
}
std::int64_t Resampler::last_row() const {
  return state_ ? state_->end_row - 1 : -1;
}
std::int64_t Resampler::first_col() const {
  return state_ ? state_->first_col : 0;
}
std::int64_t Resampler::last_col() const {
  return state_ ? state_->end_col - 1 : -1;
}
bool Resampler::done() const {
  return !state_ || state_->next_out >= state_->plan.keep.height;
}

void Resampler::push_rows(const std::uint8_t* const* rows) {
  if (done() || state_->next_row >= state_->end_row) return;
  if (state_->nearest) {
    state_->push_nearest(rows);
  } else {
    state_->push_filtered(rows);
  }
  ++state_->next_row;
}

}  // namespace penstock

// The resize planner and its kernels, for any sizes, box, filter, part kept and pixels.
//
// Input: 8 little-endian uint16 (source width and height, output width and height, keep x, y,
// width, height), 1 byte of filter and flags, 1 byte of channels, 4 little-endian float32 (the
// box), then pixels, repeated as needed. What must hold: no fault, and every instruction set gives
// the bytes of the plain loops.
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "transform/resample.h"

namespace {

using namespace penstock;

class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <class T>
  T next() {
    T value{};
    if (size_ >= sizeof(T)) {
      std::memcpy(&value, data_, sizeof(T));
      data_ += sizeof(T);
      size_ -= sizeof(T);
    } else {
      size_ = 0;
    }
    return value;
  }

  std::vector<std::uint8_t> pixels(std::size_t count) const {
    std::vector<std::uint8_t> out(count, 128);
    for (std::size_t i = 0; i < count && size_ > 0; ++i) out[i] = data_[i % size_];
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

std::vector<std::uint8_t> run(const ResizeSpec& spec, const std::vector<std::uint8_t>& pixels,
                              std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  const bool all = spec.keep.width == 0 && spec.keep.height == 0;
  const std::int64_t width = all ? spec.out_width : spec.keep.width;
  const std::int64_t height = all ? spec.out_height : spec.keep.height;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(width * height * spec.channels));
  static Resampler resampler;
  const Status done = resize(resampler,
                             {pixels.data(), spec.src_height, spec.src_width, spec.channels,
                              static_cast<std::ptrdiff_t>(spec.src_width * spec.channels)},
                             spec,
                             {out.data(), height, width, spec.channels,
                              static_cast<std::ptrdiff_t>(width * spec.channels)});
  if (!done) out.clear();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader(data, size);
  ResizeSpec spec;
  // Odd sizes and empty ones are wanted, large ones only cost time.
  spec.src_width = reader.next<std::uint16_t>() % 200;
  spec.src_height = reader.next<std::uint16_t>() % 120;
  spec.out_width = reader.next<std::uint16_t>() % 200;
  spec.out_height = reader.next<std::uint16_t>() % 120;
  spec.keep.x = reader.next<std::int16_t>();
  spec.keep.y = reader.next<std::int16_t>();
  spec.keep.width = reader.next<std::uint16_t>() % 200;
  spec.keep.height = reader.next<std::uint16_t>() % 120;
  const auto flags = reader.next<std::uint8_t>();
  spec.filter = static_cast<Filter>(flags % 7);  // one too many, to see it refused
  spec.mirror = (flags & 0x80) != 0;
  spec.order = (flags & 0x40) != 0 ? PassOrder::horizontal_first : PassOrder::pillow;
  if ((flags & 0x20) == 0) spec.keep = {};
  const auto channels = reader.next<std::uint8_t>();
  spec.channels = channels % 6;
  spec.box.left = reader.next<float>();
  spec.box.top = reader.next<float>();
  spec.box.right = reader.next<float>();
  spec.box.bottom = reader.next<float>();
  if ((channels & 0x80) != 0) spec.box = spec.whole();

  const auto pixels =
      reader.pixels(static_cast<std::size_t>(spec.src_width * spec.src_height * spec.channels));
  const auto plain = run(spec, pixels, HWY_SCALAR);
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t supported = hwy::SupportedTargets();
  // One vector version per input, so that inputs stay quick; `size` turns through them.
  std::vector<std::int64_t> targets;
  for (int bit = 0; bit < 62; ++bit) {
    if ((supported >> bit & 1) != 0) targets.push_back(std::int64_t{1} << bit);
  }
  if (!targets.empty() && run(spec, pixels, targets[size % targets.size()]) != plain) std::abort();
  hwy::SetSupportedTargetsForTest(0);
  return 0;
}

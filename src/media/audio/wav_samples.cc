#include "media/audio/wav_samples.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace penstock::media {
namespace {

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A sample as it is stored: how many bytes, and its value.
struct U8 {
  static constexpr int kBytes = 1;
  static float to_float(const std::uint8_t* p) { return float(int(*p) - 128) * (1.0f / 128); }
  static std::int16_t to_int16(const std::uint8_t* p) {
    return std::int16_t((int(*p) - 128) * 256);
  }
};
struct S16 {
  static constexpr int kBytes = 2;
  static float to_float(const std::uint8_t* p) {
    return float(load<std::int16_t>(p)) * (1.0f / 32768);
  }
  static std::int16_t to_int16(const std::uint8_t* p) { return load<std::int16_t>(p); }
};
struct S24 {
  static constexpr int kBytes = 3;
  static std::int32_t value(const std::uint8_t* p) {
    return std::int32_t(std::uint32_t(p[0]) << 8 | std::uint32_t(p[1]) << 16 |
                        std::uint32_t(p[2]) << 24);
  }
  static float to_float(const std::uint8_t* p) { return float(value(p)) * (1.0f / 2147483648.0f); }
  static std::int16_t to_int16(const std::uint8_t* p) { return std::int16_t(value(p) >> 16); }
};
struct S32 {
  static constexpr int kBytes = 4;
  static float to_float(const std::uint8_t* p) {
    return float(load<std::int32_t>(p)) * (1.0f / 2147483648.0f);
  }
  static std::int16_t to_int16(const std::uint8_t* p) {
    return std::int16_t(load<std::int32_t>(p) >> 16);
  }
};
template <class T>
struct Floating {
  static constexpr int kBytes = sizeof(T);
  static float to_float(const std::uint8_t* p) { return float(load<T>(p)); }
  static std::int16_t to_int16(const std::uint8_t* p) {
    const T value = load<T>(p) * T(32768);
    if (!(value > T(-32768))) return -32768;  // also where it is no number
    if (value >= T(32767)) return 32767;
    return std::int16_t(std::lrint(value));
  }
};

template <class Sample>
void one(const std::uint8_t* from, float& out) {
  out = Sample::to_float(from);
}
template <class Sample>
void one(const std::uint8_t* from, std::int16_t& out) {
  out = Sample::to_int16(from);
}

template <class Sample, class Out>
void stereo_rows(const std::uint8_t* from, std::int64_t count, Out* left, Out* right) {
  for (std::int64_t i = 0; i < count; ++i) {
    one<Sample>(from + 2 * i * Sample::kBytes, left[i]);
    one<Sample>(from + (2 * i + 1) * Sample::kBytes, right[i]);
  }
}

template <class Sample, class Out>
void strided(const std::uint8_t* from, std::int64_t step, std::int64_t count, Out* out,
             std::int64_t out_step) {
  if (out_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) one<Sample>(from + i * step, out[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) one<Sample>(from + i * step, out[i * out_step]);
}

template <class Sample, class Out>
void convert_rows(const WavRows& rows, const std::uint8_t* from, std::int64_t at,
                  std::int64_t count, Out* out) {
  const std::int64_t step = std::int64_t(rows.channels) * Sample::kBytes;
  if constexpr (std::is_same_v<Out, float>) {
    if (rows.mixed) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float left = Sample::to_float(from + i * step);
        out[at + i] = left * 0.5f + Sample::to_float(from + i * step + Sample::kBytes) * 0.5f;
      }
      return;
    }
  }
  if (rows.channels_first && rows.channels == 2 && rows.select.empty()) {
    stereo_rows<Sample>(from, count, out + at, out + rows.total + at);
    return;
  }
  const std::int64_t width = rows.select.empty() ? rows.channels : std::int64_t(rows.select.size());
  if (!rows.channels_first && rows.select.empty()) {  // one long row
    strided<Sample>(from, Sample::kBytes, count * width, out + at * width, 1);
    return;
  }
  for (std::int64_t c = 0; c < width; ++c) {
    const int channel = rows.select.empty() ? int(c) : rows.select[std::size_t(c)];
    Out* const to = rows.channels_first ? out + c * rows.total + at : out + at * width + c;
    strided<Sample>(from + channel * Sample::kBytes, step, count, to,
                    rows.channels_first ? 1 : width);
  }
}

template <class Out>
void convert_any(const WavRows& rows, const std::uint8_t* from, std::int64_t at, std::int64_t count,
                 Out* out) {
  switch (rows.coding) {
    case WavCoding::u8:
      return convert_rows<U8>(rows, from, at, count, out);
    case WavCoding::s16:
      return convert_rows<S16>(rows, from, at, count, out);
    case WavCoding::s24:
      return convert_rows<S24>(rows, from, at, count, out);
    case WavCoding::s32:
      return convert_rows<S32>(rows, from, at, count, out);
    case WavCoding::f32:
      return convert_rows<Floating<float>>(rows, from, at, count, out);
    case WavCoding::f64:
      return convert_rows<Floating<double>>(rows, from, at, count, out);
  }
}

}  // namespace

void WavRows::convert(const std::uint8_t* from, std::int64_t at, std::int64_t count,
                      float* out) const {
  convert_any(*this, from, at, count, out);
}

void WavRows::convert(const std::uint8_t* from, std::int64_t at, std::int64_t count,
                      std::int16_t* out) const {
  convert_any(*this, from, at, count, out);
}

}  // namespace penstock::media

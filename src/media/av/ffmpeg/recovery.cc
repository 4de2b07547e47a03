#include "media/av/ffmpeg/recovery.h"

#include <cstddef>
#include <optional>

namespace penstock::media::av {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int kSlice = 1, kIdr = 5, kSei = 6;
constexpr std::size_t kRecoveryPoint = 6;

// Takes NAL units off the front of a packet, one after the other.
class Units {
 public:
  Units(Bytes packet, Bytes extradata) : rest_(packet) {
    if (extradata.size() >= 5 && extradata[0] == 1) length_bytes_ = (extradata[4] & 3) + 1u;
  }

  std::optional<Bytes> next() { return length_bytes_ > 0 ? by_length() : by_start_code(); }

 private:
  std::optional<Bytes> by_length() {
    if (rest_.size() < length_bytes_) return std::nullopt;
    std::size_t size = 0;
    for (std::size_t i = 0; i < length_bytes_; ++i) size = size << 8 | rest_[i];
    rest_ = rest_.subspan(length_bytes_);
    if (size > rest_.size()) return std::nullopt;
    const Bytes unit = rest_.first(size);
    rest_ = rest_.subspan(size);
    return unit;
  }

  std::optional<Bytes> by_start_code() {
    const std::size_t begin = start_code(0);
    if (begin == rest_.size()) return std::nullopt;
    const std::size_t end = start_code(begin + 3);
    const Bytes unit = rest_.subspan(begin + 3, end - begin - 3);
    rest_ = rest_.subspan(end);
    return unit;
  }

  // Where 00 00 01 is, from `from` on; the end if nowhere.
  std::size_t start_code(std::size_t from) const {
    for (std::size_t i = from; i + 3 <= rest_.size(); ++i) {
      if (rest_[i] == 0 && rest_[i + 1] == 0 && rest_[i + 2] == 1) return i;
    }
    return rest_.size();
  }

  Bytes rest_;
  std::size_t length_bytes_ = 0;  // 0: start codes
};

// The bytes of a unit as they were before it was kept from looking like a start code: a 3 behind
// two zeros was put there.
class Unescaped {
 public:
  explicit Unescaped(Bytes unit) : rest_(unit) {}

  std::optional<std::uint8_t> next() {
    if (zeros_ >= 2 && !rest_.empty() && rest_[0] == 3) rest_ = rest_.subspan(1), zeros_ = 0;
    if (rest_.empty()) return std::nullopt;
    const std::uint8_t byte = rest_[0];
    rest_ = rest_.subspan(1);
    zeros_ = byte == 0 ? zeros_ + 1 : 0;
    return byte;
  }

  // As many times 255 as there are, and a remainder.
  std::optional<std::size_t> number() {
    std::size_t value = 0;
    while (const std::optional<std::uint8_t> byte = next()) {
      value += *byte;
      if (*byte != 255) return value;
    }
    return std::nullopt;
  }

 private:
  Bytes rest_;
  std::size_t zeros_ = 0;
};

// Of an SEI unit without its first byte. A recovery point begins with the number of pictures until
// all is right; in Exp-Golomb code 0 is a one as the first bit.
bool sei_may_start(Bytes sei) {
  Unescaped bytes(sei);
  for (;;) {
    const std::optional<std::size_t> type = bytes.number();
    const std::optional<std::size_t> size = type ? bytes.number() : std::nullopt;
    if (!size) return true;
    for (std::size_t i = 0; i < *size; ++i) {
      const std::optional<std::uint8_t> byte = bytes.next();
      if (!byte) return true;
      if (*type == kRecoveryPoint) return (*byte & 0x80) != 0;
    }
  }
}

}  // namespace

Start h264_start(Bytes packet, Bytes extradata) {
  Units units(packet, extradata);
  while (const std::optional<Bytes> unit = units.next()) {
    if (unit->empty()) continue;
    const int type = (*unit)[0] & 31;
    if (type == kIdr) return Start::clean;
    if (type == kSei && !sei_may_start(unit->subspan(1))) return Start::never;
    if (type == kSlice) break;  // nothing that matters is behind it
  }
  return Start::open;
}

}  // namespace penstock::media::av

#include "media/av/ffmpeg/recovery.h"

#include <cstddef>
#include <optional>

namespace penstock::media::av {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int kSlice = 1, kIdr = 5, kSei = 6;
constexpr unsigned kRecoveryPoint = 6;

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

// Is the first number of a recovery point, the pictures until all is right, 0? In Exp-Golomb code
// that is a one as the first bit.
bool at_once(Bytes message) {
  return message.empty() || (message[0] & 0x80) != 0;
}

// Of an SEI unit without its first byte.
bool sei_may_start(Bytes sei) {
  while (sei.size() > 2) {
    unsigned type = 0, size = 0;
    const auto number = [&sei](unsigned& value) {
      while (!sei.empty()) {
        const std::uint8_t byte = sei.front();
        sei = sei.subspan(1);
        value += byte;
        if (byte != 255) return;
      }
    };
    number(type), number(size);
    if (size > sei.size()) return true;
    if (type == kRecoveryPoint) return at_once(sei.first(size));
    sei = sei.subspan(size);
  }
  return true;
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

#include "media/av/ffmpeg/recovery.h"

#include <cstddef>
#include <optional>

#include "media/av/ffmpeg/nal_units.h"

namespace penstock::media::av {
namespace {

constexpr int kSlice = 1, kIdr = 5, kSei = 6;
constexpr std::size_t kRecoveryPoint = 6;

// As many times 255 as there are, and a remainder.
std::optional<std::size_t> number(Unescaped& bytes) {
  std::size_t value = 0;
  while (const std::optional<std::uint8_t> byte = bytes.next()) {
    value += *byte;
    if (*byte != 255) return value;
  }
  return std::nullopt;
}

// Of an SEI unit without its first byte. A recovery point begins with the number of pictures until
// all is right; in Exp-Golomb code 0 is a one as the first bit.
bool sei_may_start(Bytes sei) {
  Unescaped bytes(sei);
  for (;;) {
    const std::optional<std::size_t> type = number(bytes);
    const std::optional<std::size_t> size = type ? number(bytes) : std::nullopt;
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
  Units units(packet, length_bytes(extradata, false));
  while (units.next()) {
    const int type = units.first() & 31;
    if (type == kIdr) return Start::clean;
    if (type == kSei && !sei_may_start(units.unit().subspan(1))) return Start::never;
    if (type == kSlice) break;  // nothing that matters is behind it
  }
  return Start::open;
}

}  // namespace penstock::media::av

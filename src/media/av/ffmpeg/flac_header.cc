#include "media/av/ffmpeg/flac_header.h"

#include <bit>

#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {
namespace {

// A number as UTF-8 would code it, up to 36 bits; moves `at` behind it.
std::optional<std::uint64_t> coded_number(std::span<const std::uint8_t> from, std::size_t& at) {
  if (at >= from.size()) return std::nullopt;
  const std::uint8_t head = from[at++];
  const int ones = std::countl_one(head);
  if (ones == 0) return head;
  if (ones == 1 || ones > 7) return std::nullopt;
  std::uint64_t number = head & (0x7FU >> ones);
  for (int i = 1; i < ones; ++i, ++at) {
    if (at >= from.size() || (from[at] & 0xC0) != 0x80) return std::nullopt;
    number = number << 6 | (from[at] & 0x3FU);
  }
  return number;
}

}  // namespace

std::optional<FlacFrame> flac_frame(std::span<const std::uint8_t> packet,
                                    std::span<const std::uint8_t> info) {
  if (packet.size() < 6 || packet[0] != 0xFF || (packet[1] & 0xFE) != 0xF8) return std::nullopt;
  const bool counts_samples = (packet[1] & 1) != 0;
  const unsigned size = packet[2] >> 4, rate = packet[2] & 15;
  std::size_t at = 4;
  const std::optional<std::uint64_t> number = coded_number(packet, at);
  const std::size_t end = at +
                          (size == 6   ? 1U
                           : size == 7 ? 2U
                                       : 0U) +
                          (rate == 12  ? 1U
                           : rate > 12 ? 2U
                                       : 0U);
  if (!number || size == 0 || end >= packet.size() ||
      av_crc(av_crc_get_table(AV_CRC_8_ATM), 0, packet.data(), end) != packet[end]) {
    return std::nullopt;
  }
  FlacFrame frame;
  frame.samples = size == 1   ? 192
                  : size <= 5 ? 576 << (size - 2)
                  : size == 6 ? packet[at] + 1
                  : size == 7 ? (packet[at] << 8 | packet[at + 1]) + 1
                              : 256 << (size - 8);
  if (counts_samples) {
    frame.first = std::int64_t(*number);
  } else if (info.size() >= 4 && info[0] == info[2] && info[1] == info[3]) {
    frame.first = std::int64_t(*number) * (info[0] << 8 | info[1]);
  }
  return frame;
}

}  // namespace penstock::media::av

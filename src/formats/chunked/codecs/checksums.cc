// Checksums of four bytes behind the others: CRC-32C, and HDF5's Fletcher-32.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "formats/chunked/codec.h"
#include "formats/crc32c.h"

namespace penstock::formats::chunked {
namespace {

// Sums of 16-bit words, the high byte first, modulo 65535. 360 words can be added before a sum of
// 32 bits overflows.
std::uint32_t fletcher32(std::span<const std::byte> bytes) noexcept {
  std::uint32_t low = 0, high = 0;
  const auto fold = [](std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  const std::byte* at = bytes.data();
  for (std::size_t words = bytes.size() / 2; words > 0;) {
    const std::size_t some = std::min<std::size_t>(words, 360);
    for (std::size_t i = 0; i < some; ++i, at += 2) {
      low += std::uint32_t(at[0]) << 8 | std::uint32_t(at[1]);
      high += low;
    }
    low = fold(low), high = fold(high);
    words -= some;
  }
  if (bytes.size() % 2 != 0) {
    low += std::uint32_t(*at) << 8;
    high += low;
    low = fold(low), high = fold(high);
  }
  return fold(high) << 16 | fold(low);
}

// As files of HDF5 before 1.6.3 have it: the bytes of each half the other way round.
std::uint32_t halves_swapped(std::uint32_t sum) noexcept {
  return (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8;
}

class Checksum final : public Codec {
 public:
  enum class Kind { crc32c, fletcher32 };
  explicit Checksum(Kind kind) : kind_(kind) {}
  std::string name() const override { return kind_ == Kind::crc32c ? "crc32c" : "fletcher32"; }
  std::optional<std::size_t> packed_size(std::size_t size) const override { return size + kBytes; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    if (packed.size() < kBytes || packed.size() - kBytes > into.size()) {
      return Error(Code::corrupt, "the chunk is damaged: it has the wrong size");
    }
    const std::span<const std::byte> bytes = packed.first(packed.size() - kBytes);
    std::uint32_t stored = 0;
    for (std::size_t i = kBytes; i-- > 0;) {
      stored = stored << 8 | std::uint32_t(packed[bytes.size() + i]);
    }
    const std::uint32_t sum = kind_ == Kind::crc32c ? crc32c(bytes) : fletcher32(bytes);
    if (sum != stored && (kind_ == Kind::crc32c || halves_swapped(sum) != stored)) {
      return Error(Code::corrupt, "the chunk is damaged: its " + name() + " checksum is wrong");
    }
    if (!bytes.empty()) std::memcpy(into.data(), bytes.data(), bytes.size());
    return bytes.size();
  }

 private:
  static constexpr std::size_t kBytes = 4;
  Kind kind_;
};

}  // namespace

CodecPtr crc32c_codec() {
  return std::make_shared<Checksum>(Checksum::Kind::crc32c);
}

CodecPtr fletcher32_codec() {
  return std::make_shared<Checksum>(Checksum::Kind::fletcher32);
}

}  // namespace penstock::formats::chunked

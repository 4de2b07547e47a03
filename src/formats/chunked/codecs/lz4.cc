// LZ4 blocks, in the two wrappings that array formats have.
#include <lz4.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

Error damaged() {
  return Error(Code::corrupt, "the chunk is damaged: its lz4 data cannot be unpacked");
}

bool unpack(std::span<const std::byte> packed, std::span<std::byte> into) noexcept {
  if (packed.size() > LZ4_MAX_INPUT_SIZE || into.size() > LZ4_MAX_INPUT_SIZE) return false;
  return ::LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                               reinterpret_cast<char*>(into.data()), int(packed.size()),
                               int(into.size())) == int(into.size());
}

class Lz4 final : public Codec {
 public:
  std::string name() const override { return "lz4"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    std::uint32_t size = 0;
    if (packed.size() < sizeof(size)) return damaged();
    for (std::size_t i = sizeof(size); i-- > 0;) size = size << 8 | std::uint32_t(packed[i]);
    if (size > into.size() || !unpack(packed.subspan(sizeof(size)), into.first(size))) {
      return damaged();
    }
    return std::size_t(size);
  }
};

// Eight bytes of length, four of the length of a block, then blocks: four bytes that say how long
// each is in the file, which is its own length where it was not compressed. All big-endian.
class Hdf5Lz4 final : public Codec {
 public:
  std::string name() const override { return "lz4"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    const std::optional<std::uint64_t> size = number(packed, 8);
    const std::optional<std::uint64_t> block = number(packed, 4);
    if (!size || !block || *size > into.size() || (*block == 0 && *size > 0)) return damaged();
    for (std::span<std::byte> rest = into.first(std::size_t(*size)); !rest.empty();) {
      const std::span<std::byte> part =
          rest.first(std::size_t(std::min<std::uint64_t>(*block, rest.size())));
      const std::optional<std::uint64_t> length = number(packed, 4);
      if (!length || *length > packed.size()) return damaged();
      const std::span<const std::byte> from = packed.first(std::size_t(*length));
      if (from.size() == part.size()) {
        std::memcpy(part.data(), from.data(), part.size());
      } else if (!unpack(from, part)) {
        return damaged();
      }
      packed = packed.subspan(from.size());
      rest = rest.subspan(part.size());
    }
    return std::size_t(*size);
  }

 private:
  static std::optional<std::uint64_t> number(std::span<const std::byte>& from, std::size_t bytes) {
    if (from.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::uint64_t(from[i]);
    from = from.subspan(bytes);
    return value;
  }
};

}  // namespace

CodecPtr lz4_codec() {
  return std::make_shared<Lz4>();
}

CodecPtr hdf5_lz4_codec() {
  return std::make_shared<Hdf5Lz4>();
}

}  // namespace penstock::formats::chunked

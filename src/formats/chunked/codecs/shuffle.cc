// Shuffle: the first bytes of all elements, then the second ones, and so on. What is left over
// behind the last whole element stays where it is.
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

#if defined(__SSE2__)
// Sixteen elements at a time: neighbouring bytes are interleaved, then pairs of them, and so on.
template <std::size_t kItem>
std::size_t unshuffle_blocks(const std::byte* from, std::byte* to, std::size_t count) noexcept {
  std::size_t done = 0;
  for (; done + 16 <= count; done += 16, to += 16 * kItem) {
    __m128i lanes[kItem];
    for (std::size_t k = 0; k < kItem; ++k) {
      lanes[k] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k * count + done));
    }
    for (std::size_t round = 1; round < kItem; round *= 2) {
      __m128i next[kItem];
      for (std::size_t k = 0; k < kItem / 2; ++k) {
        next[2 * k] = _mm_unpacklo_epi8(lanes[k], lanes[k + kItem / 2]);
        next[2 * k + 1] = _mm_unpackhi_epi8(lanes[k], lanes[k + kItem / 2]);
      }
      std::memcpy(lanes, next, sizeof(lanes));
    }
    for (std::size_t k = 0; k < kItem; ++k) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + k, lanes[k]);
    }
  }
  return done;
}
#else
template <std::size_t kItem>
std::size_t unshuffle_blocks(const std::byte*, std::byte*, std::size_t) noexcept {
  return 0;
}
#endif

class Shuffle final : public Codec {
 public:
  explicit Shuffle(std::size_t item) : item_(item) {}
  std::string name() const override { return "shuffle"; }
  std::optional<std::size_t> packed_size(std::size_t size) const override { return size; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    if (packed.size() > into.size()) {
      return Error(Code::corrupt, "the chunk is damaged: it has too many bytes");
    }
    const std::byte* from = packed.data();
    const std::size_t count = item_ == 0 ? 0 : packed.size() / item_;
    std::size_t done = 0;
    if (item_ == 2) done = unshuffle_blocks<2>(from, into.data(), count);
    if (item_ == 4) done = unshuffle_blocks<4>(from, into.data(), count);
    if (item_ == 8) done = unshuffle_blocks<8>(from, into.data(), count);
    for (std::size_t k = 0; k < item_ && count > 0; ++k) {
      for (std::size_t i = done; i < count; ++i) into[i * item_ + k] = from[k * count + i];
    }
    const std::size_t whole = count * item_;
    if (whole < packed.size()) {
      std::memcpy(into.data() + whole, from + whole, packed.size() - whole);
    }
    return packed.size();
  }

 private:
  std::size_t item_;
};

}  // namespace

CodecPtr shuffle_codec(std::size_t element_bytes) {
  return std::make_shared<Shuffle>(element_bytes);
}

}  // namespace penstock::formats::chunked

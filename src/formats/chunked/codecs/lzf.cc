// LZF. Each step begins with a byte: below 32 it is followed by so many bytes and one, as they are;
// else its upper three bits are a length less two (7: another byte is added to it) and its lower
// five, with the next byte, how far back to copy from, less one.
#include <cstring>

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

class Lzf final : public Codec {
 public:
  std::string name() const override { return "lzf"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    const std::byte* from = packed.data();
    const std::byte* const end = from + packed.size();
    std::byte* to = into.data();
    std::byte* const full = to + into.size();
    while (from < end) {
      const auto control = std::size_t(*from++);
      if (control < 32) {
        const std::size_t count = control + 1;
        if (std::size_t(end - from) < count || std::size_t(full - to) < count) return damaged();
        std::memcpy(to, from, count);
        from += count;
        to += count;
        continue;
      }
      std::size_t count = control >> 5;
      if (count == 7) {
        if (from == end) return damaged();
        count += std::size_t(*from++);
      }
      count += 2;
      if (from == end) return damaged();
      const std::size_t back = ((control & 31) << 8 | std::size_t(*from++)) + 1;
      if (std::size_t(to - into.data()) < back || std::size_t(full - to) < count) return damaged();
      copy_back(to, back, count);
      to += count;
    }
    return std::size_t(to - into.data());
  }

 private:
  static Error damaged() {
    return Error(Code::corrupt, "the chunk is damaged: its lzf data cannot be unpacked");
  }

  // What is copied may reach into what it makes: then it repeats.
  static void copy_back(std::byte* to, std::size_t back, std::size_t count) noexcept {
    if (back >= count) {
      std::memcpy(to, to - back, count);
    } else if (back == 1) {
      std::memset(to, int(to[-1]), count);
    } else {
      for (std::size_t i = 0; i < count; ++i) to[i] = to[std::ptrdiff_t(i - back)];
    }
  }
};

}  // namespace

CodecPtr lzf_codec() {
  return std::make_shared<Lzf>();
}

}  // namespace penstock::formats::chunked

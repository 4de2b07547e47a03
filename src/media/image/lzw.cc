#include "media/image/lzw.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::media {
namespace {

constexpr int kMaxBits = 12;

// Bits, lowest first, out of length-led blocks.
class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> blocks) : data_(blocks) {}

  // -1 at the end.
  int next(int bits) {
    while (held_ < bits) {
      if (block_ == 0) {
        if (at_ >= data_.size() || data_[at_] == 0) return -1;
        block_ = data_[at_++];
      }
      if (at_ >= data_.size()) return -1;
      bits_ |= std::uint32_t(data_[at_++]) << held_;
      --block_;
      held_ += 8;
    }
    const int code = int(bits_ & ((1u << bits) - 1));
    bits_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  std::span<const std::uint8_t> data_;
  std::size_t at_ = 0;
  int block_ = 0;  // bytes left in this block
  std::uint32_t bits_ = 0;
  int held_ = 0;
};

}  // namespace

Result<std::size_t> lzw_decode_gif(std::span<const std::uint8_t> data, std::uint8_t* to,
                                   std::size_t size) {
  if (data.empty()) return std::size_t{0};
  const int smallest = data[0];
  if (smallest < 1 || smallest > 8) {
    return Error(Code::corrupt, "GIF: impossible code size " + std::to_string(smallest));
  }
  const int clear = 1 << smallest, end = clear + 1;
  // A code stands for a string already written: where it ends, and how long it is. A new code is
  // the string before plus the first index of this one, which follows it in the output.
  struct String {
    std::size_t start;
    std::uint32_t length;
  };
  std::array<String, 1 << kMaxBits> strings;
  int bits = smallest + 1, next = end + 1;
  int before = -1;  // the code before this one, or none after a clear
  String last{};    // its string in the output
  BitReader reader(data.subspan(1));
  std::size_t made = 0;
  while (made < size) {
    const int code = reader.next(bits);
    if (code < 0 || code == end) break;
    if (code == clear) {
      bits = smallest + 1, next = end + 1, before = -1;
      continue;
    }
    const std::size_t start = made;
    if (code < clear) {
      to[made++] = std::uint8_t(code);
    } else {
      if (before < 0 || code > next) {
        return Error(Code::corrupt, "GIF: impossible code " + std::to_string(code));
      }
      // The code about to be made: the last string plus its own first index.
      const String from =
          code < next ? strings[std::size_t(code)] : String{last.start, last.length + 1};
      // Source and destination may overlap by design: copied upwards, byte by byte.
      const std::size_t length = std::min<std::size_t>(from.length, size - made);
      for (std::size_t i = 0; i < length; ++i) to[made + i] = to[from.start + i];
      made += length;
    }
    if (before >= 0 && next < 1 << kMaxBits) {
      strings[std::size_t(next++)] = {last.start, last.length + 1};
      if (next == 1 << bits && bits < kMaxBits) ++bits;
    }
    before = code;
    last = {start, std::uint32_t(made - start)};
  }
  return made;
}

}  // namespace penstock::media

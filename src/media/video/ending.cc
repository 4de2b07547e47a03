#include "media/video/ending.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "media/audio/ending.h"

namespace penstock::media {
namespace {

constexpr std::uint64_t kVeryMany = 0x7F000000;  // a number from which on it only means unknown

// A file as bytes and numbers. What lies behind its end, or cannot be read, is not there.
class File {
 public:
  explicit File(const storage::Source& source) : source_(source) {}

  std::uint64_t size() const { return source_.size(); }

  std::optional<unsigned> byte(std::uint64_t place) {
    if (place >= size()) return {};
    if (place < from_ || place - from_ >= count_) {
      from_ = place, count_ = std::min<std::uint64_t>(block_.size(), size() - place);
      if (!source_.read(from_, std::span(block_).first(count_))) {
        count_ = 0;
        return {};
      }
    }
    return std::to_integer<unsigned>(block_[place - from_]);
  }

  std::optional<std::uint64_t> big(std::uint64_t place, unsigned bytes) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const std::optional<unsigned> one = byte(place + i);
      if (!one) return {};
      number = number << 8 | *one;
    }
    return number;
  }

  std::optional<std::uint64_t> little(std::uint64_t place, unsigned bytes) {
    std::uint64_t number = 0;
    for (unsigned i = bytes; i-- > 0;) {
      const std::optional<unsigned> one = byte(place + i);
      if (!one) return {};
      number = number << 8 | *one;
    }
    return number;
  }

  bool holds(std::uint64_t place, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (byte(place + i) != std::optional<unsigned>(static_cast<unsigned char>(text[i]))) {
        return false;
      }
    }
    return true;
  }

 private:
  const storage::Source& source_;
  std::array<std::byte, 16384> block_;
  std::uint64_t from_ = 0, count_ = 0;
};

// A table of colours, as the flags before it say.
std::uint64_t table_bytes(unsigned flags) {
  return (flags & 0x80) != 0 ? std::uint64_t(3) << ((flags & 7) + 1) : 0;
}

// Where the last packet begins; 0: nobody knows. What is in front of it has been read.
std::uint64_t last_packet(const FrameIndex& index) {
  return index.packets.empty() ? 0
                               : std::uint64_t(std::max<std::int64_t>(index.packets.back().pos, 0));
}

std::string of_gif(File& file, const FrameIndex& index) {
  constexpr unsigned kExtension = 0x21, kPicture = 0x2C;
  const char* const cut = "the file ends before its trailer";
  std::uint64_t place = last_packet(index);
  if (file.byte(place) != kExtension && file.byte(place) != kPicture) {
    place = 13 + table_bytes(file.byte(10).value_or(0));
  }
  for (;;) {
    const std::optional<unsigned> kind = file.byte(place);
    if (!kind) return cut;
    if (*kind != kExtension && *kind != kPicture) return {};  // the trailer, or no block at all
    place += *kind == kPicture ? 11 + table_bytes(file.byte(place + 9).value_or(0)) : 2;
    for (unsigned bytes = 1; bytes > 0; place += 1 + bytes) {
      const std::optional<unsigned> size = file.byte(place);
      if (!size) return cut;
      bytes = *size;
    }
  }
}

// One picture that moves, or a row of them.
std::string of_png(File& file, const FrameIndex& index) {
  constexpr std::string_view kBegin = "\x89PNG\r\n\x1A\n", kFrame = "fcTL";
  std::uint64_t place = last_packet(index);
  bool inside = file.holds(place + 4, kFrame);
  if (!inside && !file.holds(place, kBegin)) place = 0;
  for (; inside || file.holds(place, kBegin); inside = false) {
    if (!inside) place += kBegin.size();
    for (bool last = false; !last;) {
      const std::optional<std::uint64_t> size = file.big(place, 4);
      if (!size || *size + 12 > file.size() - place) return "the file ends before its last chunk";
      last = file.holds(place + 4, "IEND");
      place += 12 + *size;
    }
  }
  return {};
}

std::string of_y4m(File& file, const FrameIndex& index) {
  if (index.packets.empty() || index.packets.back().pos < 0) return {};
  const IndexedPacket& last = index.packets.back();
  const std::uint64_t end = std::uint64_t(last.pos) + last.size;
  if (end >= file.size()) return {};
  const std::uint64_t left = std::min<std::uint64_t>(file.size() - end, 5);
  return file.holds(end, std::string_view("FRAME").substr(0, left)) ? "the file ends inside a frame"
                                                                    : "";
}

// The header counts frames, or tells how long they are all shown; or neither, if it was written
// into a pipe.
std::string of_ivf(File& file, const FrameIndex& index) {
  const std::optional<std::uint64_t> said = file.little(24, 4);
  const std::size_t count = index.packets.size();
  if (!said || *said >= kVeryMany || count < 2 || count >= *said) return {};
  const std::int64_t first = index.packets.front().pts, last = index.packets.back().pts;
  if (first == av::kNoTime || last == av::kNoTime || last <= first) return {};
  constexpr double kFramesOut = 3;  // the last one may be shown longer than others
  const double step = (double(last) - double(first)) / double(count - 1);
  return step * (double(count) + kFramesOut) < double(*said)
             ? "the file ends before the frames that its header tells of"
             : "";
}

// Behind each tag stands how large it is, mostly.
std::string of_flv(File& file) {
  constexpr std::uint64_t kHead = 11, kTail = 4;
  const std::uint64_t size = file.size();
  if (size < kHead + kTail) return {};
  const std::uint64_t tag = file.big(size - kTail, kTail).value_or(0);
  if (tag >= kHead && tag + kTail <= size &&
      file.big(size - kTail - tag + 1, 3) == std::optional(tag - kHead)) {
    return {};
  }
  std::uint64_t place = file.big(5, 4).value_or(size) + kTail;
  while (place < size) {
    const unsigned kind = file.byte(place).value_or(0) & 0x1F;
    if (kind != 8 && kind != 9 && kind != 18) return {};
    const std::optional<std::uint64_t> bytes = file.big(place + 1, 3);
    if (!bytes || kHead + *bytes > size - place) return "the file ends inside a tag";
    place += kHead + *bytes + kTail;
  }
  return {};
}

// Where the last partition begins, as the first one says.
std::string of_mxf(File& file) {
  constexpr std::string_view kPartition("\x06\x0E\x2B\x34\x02\x05\x01\x01\x0D\x01\x02\x01\x01", 13);
  if (!file.holds(0, kPartition)) return {};
  const unsigned length = file.byte(16).value_or(0);
  const std::uint64_t pack = 17 + (length >= 0x80 ? length & 0x7F : 0);
  const std::uint64_t last = file.big(pack + 24, 8).value_or(0);
  return last >= file.size() ? "the file ends before its last partition" : "";
}

std::string of_asf(File& file) {
  constexpr std::string_view kProperties(
      "\xA1\xDC\xAB\x8C\x47\xA9\xCF\x11\x8E\xE4\x00\xC0\x0C\x20\x53\x65", 16);
  const std::uint64_t objects = std::min<std::uint64_t>(file.little(24, 4).value_or(0), 64);
  std::uint64_t place = 30;
  for (std::uint64_t i = 0; i < objects && place < file.size(); ++i) {
    if (file.holds(place, kProperties)) {
      const bool live = (file.little(place + 88, 4).value_or(1) & 1) != 0;
      const bool cut = !live && file.little(place + 40, 8).value_or(0) > file.size();
      return cut ? "the file ends before its header says" : "";
    }
    const std::uint64_t size = file.little(place + 16, 8).value_or(0);
    if (size < 24 || size > file.size() - place) return {};
    place += size;
  }
  return {};
}

// A large one goes on in chunks of their own behind the first.
std::string of_avi(File& file) {
  std::uint64_t place = 0;
  while (file.holds(place, "RIFF")) {
    const std::uint64_t size = file.little(place + 4, 4).value_or(0);
    if (size == 0 || size >= kVeryMany) return {};
    if (8 + size > file.size() - place + 1) return "the file ends before its chunks do";
    place += 8 + size + size % 2;
  }
  return {};
}

}  // namespace

std::string early_end(const storage::Source& source, const FrameIndex& index,
                      const std::string& container) {
  File file(source);
  if (container == "gif") return of_gif(file, index);
  if (container == "apng" || container == "png_pipe") return of_png(file, index);
  if (container == "yuv4mpegpipe") return of_y4m(file, index);
  if (container == "ivf") return of_ivf(file, index);
  if (container == "flv") return of_flv(file);
  if (container == "mxf") return of_mxf(file);
  if (container == "asf") return of_asf(file);
  if (container == "avi") return of_avi(file);
  return early_end(source, container);
}

}  // namespace penstock::media

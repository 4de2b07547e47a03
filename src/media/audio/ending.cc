#include "media/audio/ending.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "media/audio/wav.h"

namespace penstock::media {
namespace {

constexpr std::size_t kPageHead = 27;            // without the table of its segments
constexpr std::uint64_t kMostOfAPage = 1 << 17;  // and of what may be behind the last one
constexpr std::uint64_t kMostPages = 1 << 13;    // where the last one begins, usually

unsigned at(std::span<const std::byte> bytes, std::size_t place) {
  return std::to_integer<unsigned>(bytes[place]);
}

// The page that begins with `bytes`; nothing: it ends behind them.
std::optional<bool> is_last(std::span<const std::byte> bytes) {
  if (bytes.size() < kPageHead) return {};
  std::size_t size = kPageHead + at(bytes, 26);
  if (bytes.size() < size) return {};
  for (std::size_t i = kPageHead, end = size; i < end; ++i) size += at(bytes, i);
  if (bytes.size() < size) return {};
  return (at(bytes, 5) & 4) != 0;
}

std::string of_ogg(const storage::Source& source) {
  std::vector<std::byte> tail;
  for (const std::uint64_t most : {kMostPages, kMostOfAPage}) {
    tail.resize(std::min(most, source.size()));
    if (!source.read(source.size() - tail.size(), tail)) return {};
    const std::string_view text(reinterpret_cast<const char*>(tail.data()), tail.size());
    const std::size_t page = text.rfind(std::string_view("OggS\0", 5));
    if (page == std::string_view::npos) continue;
    const std::optional<bool> last = is_last(std::span(tail).subspan(page));
    if (!last) return "the file ends inside a page";
    if (*last) return {};
    return "the file has no page that ends the stream: it was cut off, or was recorded from one "
           "that went on";
  }
  return {};
}

// An EBML number; `keep`: with the bit that tells its length. Moves `place` behind it.
std::optional<std::uint64_t> number(std::span<const std::byte> bytes, std::size_t& place,
                                    bool keep) {
  if (place >= bytes.size()) return {};
  const unsigned first = at(bytes, place);
  std::size_t length = 1;
  while (length <= 8 && (first & (0x100U >> length)) == 0) ++length;
  if (length > 8 || bytes.size() - place < length) return {};
  std::uint64_t value = keep ? first : first & (0xFFU >> length);
  bool unknown = (first | (0xFF00U >> length & 0xFFU)) == 0xFF;
  for (std::size_t i = 1; i < length; ++i) {
    value = value << 8 | at(bytes, place + i);
    unknown = unknown && at(bytes, place + i) == 0xFF;
  }
  place += length;
  if (!keep && unknown) return {};  // so live streams say that they do not know
  return value;
}

std::string of_matroska(const storage::Source& source) {
  constexpr std::uint64_t kHeader = 0x1A45DFA3, kSegment = 0x18538067, kMostHeader = 4096;
  std::array<std::byte, 16> head{};
  std::uint64_t here = 0;
  for (const std::uint64_t wanted : {kHeader, kSegment}) {
    if (here > source.size() || source.size() - here < head.size()) return {};
    if (!source.read(here, head)) return {};
    std::size_t place = 0;
    if (number(head, place, true) != wanted) return {};
    const std::optional<std::uint64_t> size = number(head, place, false);
    if (!size) return {};
    here += place;
    if (wanted == kHeader && *size > kMostHeader) return {};
    if (wanted == kSegment && *size > source.size() - here) {
      return "the file ends before its segment does";
    }
    here += *size;
  }
  return {};
}

// AIFF, AVI: a chunk that holds all others.
std::string of_chunk(const storage::Source& source, bool big_endian) {
  std::array<std::byte, 8> head{};
  if (source.size() < head.size() || !source.read(0, head)) return {};
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8 | at(head, big_endian ? 4 + i : 7 - i);
  // One byte may be there only to make a length even.
  if (size >= kVeryLarge || size + head.size() <= source.size() + 1) return {};
  return "the file ends before its chunks do";
}

// AU: where the samples begin, and how many bytes they are.
std::string of_au(const storage::Source& source) {
  std::array<std::byte, 12> head{};
  if (source.size() < head.size() || !source.read(0, head)) return {};
  std::uint64_t begin = 0, size = 0;
  for (std::size_t i = 4; i < 8; ++i) begin = begin << 8 | at(head, i);
  for (std::size_t i = 8; i < 12; ++i) size = size << 8 | at(head, i);
  if (size >= kVeryLarge || begin + size <= source.size()) return {};
  return "the file ends before the bytes that its header tells of";
}

// Its chunks have a name and a size of eight bytes; that of samples without an end is -1.
SaidEnd of_caf(const storage::Source& source) {
  constexpr std::uint64_t kFileHead = 8, kChunkHead = 12, kOpen = ~std::uint64_t{0};
  constexpr int kMostChunks = 4096;
  std::array<std::byte, kChunkHead> head{};
  std::uint64_t here = kFileHead;
  for (int chunk = 0; chunk < kMostChunks; ++chunk) {
    if (here > source.size() || source.size() - here < kChunkHead) break;
    if (!source.read(here, head)) break;
    here += kChunkHead;
    std::uint64_t size = 0;
    for (std::size_t i = 4; i < kChunkHead; ++i) size = size << 8 | at(head, i);
    const bool fits = size <= source.size() - here;
    if (std::memcmp(head.data(), "data", 4) == 0) {
      return size == kOpen ? SaidEnd::nowhere : fits ? SaidEnd::here : SaidEnd::beyond;
    }
    if (!fits) break;
    here += size;
  }
  return SaidEnd::here;
}

SaidEnd of_wav(const storage::Source& source) {
  const Result<std::optional<WavData>> data = find_wav_data(source);
  if (!data || !*data) return SaidEnd::here;
  if ((*data)->open) return SaidEnd::nowhere;
  return (*data)->said > (*data)->there ? SaidEnd::beyond : SaidEnd::here;
}

}  // namespace

SaidEnd said_end(const storage::Source& source, const std::string& container) {
  if (container == "caf") return of_caf(source);
  return container == "wav" ? of_wav(source) : SaidEnd::here;
}

std::string early_end(const storage::Source& source, const std::string& container) {
  if (container == "ogg") return of_ogg(source);
  if (container.starts_with("matroska")) return of_matroska(source);
  if (container == "aiff" || container == "avi") return of_chunk(source, container == "aiff");
  if (container == "au") return of_au(source);
  return {};
}

}  // namespace penstock::media

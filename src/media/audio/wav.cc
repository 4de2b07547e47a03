#include "media/audio/wav.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "media/audio/part.h"
#include "media/audio/wav_samples.h"
#include "media/image/scratch.h"
#include "media/results.h"

namespace penstock::media {
namespace {

constexpr std::uint64_t kMostChunks = 4096;
constexpr std::uint32_t kElsewhere = 0xFFFFFFFF;  // RF64: the size is in its ds64 chunk
constexpr std::uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
// What follows the format's number in an extensible header.
constexpr std::string_view kGuidTail("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71",
                                     14);

std::uint64_t little(const std::byte* from, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

std::string_view text(const std::byte* from, std::size_t size) {
  return {reinterpret_cast<const char*>(from), size};
}

// False: a coding that is not one of ours.
bool read_format(std::span<const std::byte> chunk, WavHeader& header) {
  if (chunk.size() < 16) return false;
  std::uint64_t tag = little(chunk.data(), 2);
  header.channels = int(little(chunk.data() + 2, 2));
  const std::uint64_t rate = little(chunk.data() + 4, 4);
  const std::uint64_t block = little(chunk.data() + 12, 2);
  header.bits = int(little(chunk.data() + 14, 2));
  if (tag == kExtensible) {
    if (chunk.size() < 40 || text(chunk.data() + 26, 14) != kGuidTail) return false;
    header.mask = std::uint32_t(little(chunk.data() + 20, 4));
    tag = little(chunk.data() + 24, 2);
  }
  if (header.channels < 1 || header.channels > 64 || rate < 1 || rate > 1 << 22) return false;
  header.sample_rate = int(rate);
  if (block != std::uint64_t(header.frame_bytes())) return false;
  constexpr std::array<std::pair<int, WavCoding>, 4> integers = {
      {{8, WavCoding::u8}, {16, WavCoding::s16}, {24, WavCoding::s24}, {32, WavCoding::s32}}};
  for (const auto& [bits, coding] : integers) {
    if (tag == kPcm && bits == header.bits) {
      header.coding = coding;
      return true;
    }
  }
  header.coding = header.bits == 32 ? WavCoding::f32 : WavCoding::f64;
  return tag == kFloat && (header.bits == 32 || header.bits == 64);
}

// Is what is between `at` and the end of the file a row of chunks, as they come behind the samples?
Result<bool> holds_chunks(const storage::Source& source, std::uint64_t at) {
  std::array<std::byte, 8> head{};
  std::uint64_t chunk = 0;
  for (; chunk < kMostChunks && at < source.size(); ++chunk) {
    if (source.size() - at < head.size()) return false;
    if (Status s = source.read(at, head); !s) return std::move(s).error();
    const std::string_view name = text(head.data(), 4);
    const auto prints = [](char c) { return c >= ' ' && c <= '~'; };
    if (!std::all_of(name.begin(), name.end(), prints)) return false;
    const std::uint64_t bytes = little(head.data() + 4, 4);
    if (bytes > source.size() - at - head.size()) return false;
    at += head.size() + bytes + bytes % 2;  // the last byte, which makes it even, may be missing
  }
  return chunk > 0 && at >= source.size();
}

struct Chunks {
  std::array<std::byte, 56> format{};  // the body of the fmt chunk
  std::size_t format_bytes = 0;        // so much of it is there
  WavData data;
};

// Nothing: this is no WAV file, or it has no samples.
Result<std::optional<Chunks>> read_chunks(const storage::Source& source) {
  const std::uint64_t size = source.size();
  std::array<std::byte, 64> head{};
  if (size < 44) return std::optional<Chunks>();
  if (Status s = source.read(0, std::span(head).first(12)); !s) return std::move(s).error();
  const std::string_view riff = text(head.data(), 4);
  if ((riff != "RIFF" && riff != "RF64" && riff != "BW64") || text(head.data() + 8, 4) != "WAVE") {
    return std::optional<Chunks>();
  }
  const bool is_long = riff != "RIFF";
  Chunks chunks;
  std::uint64_t at = 12, long_size = 0;
  for (std::uint64_t chunk = 0; chunk < kMostChunks && at + 8 <= size; ++chunk) {
    const std::size_t count = std::min<std::uint64_t>(head.size(), size - at);
    if (Status s = source.read(at, std::span(head).first(count)); !s) return std::move(s).error();
    const std::string_view name = text(head.data(), 4);
    std::uint64_t bytes = little(head.data() + 4, 4);
    const std::span<const std::byte> body =
        std::span<const std::byte>(head).subspan(8, std::min<std::uint64_t>(bytes, count - 8));
    if (name == "ds64" && body.size() >= 16) long_size = little(body.data() + 8, 8);
    if (name == "fmt ") {
      std::copy(body.begin(), body.end(), chunks.format.begin());
      chunks.format_bytes = body.size();
    }
    if (name == "data") {
      const bool elsewhere = is_long && bytes == kElsewhere;
      if (elsewhere) bytes = long_size;
      chunks.data = {at + 8, bytes, size - at - 8, false, is_long};
      WavData& data = chunks.data;
      // Who writes into a pipe does not know how much will come. A sound without samples is
      // something else; chunks may follow it.
      bool empty = false;
      if (bytes == 0 && data.there > 0) {
        const Result<bool> behind = holds_chunks(source, data.at);
        if (!behind) return behind.error();
        empty = *behind;
      }
      const std::uint64_t very_large = elsewhere ? kVeryLarge << 32 : kVeryLarge;
      const bool beyond = bytes > data.there || bytes == kElsewhere;
      data.open = (bytes == 0 && !empty) || (bytes >= very_large && beyond);
      if (data.open) data.said = data.there;
      return std::optional<Chunks>(chunks);
    }
    if (bytes > size - at - 8) break;
    at += 8 + bytes + bytes % 2;
  }
  return std::optional<Chunks>();
}

}  // namespace

Result<std::optional<WavData>> find_wav_data(const storage::Source& source) {
  const Result<std::optional<Chunks>> chunks = read_chunks(source);
  if (!chunks) return chunks.error();
  return *chunks ? std::optional<WavData>((*chunks)->data) : std::nullopt;
}

Result<std::optional<WavHeader>> read_wav_header(const storage::Source& source, WavData* data) {
  const Result<std::optional<Chunks>> found = read_chunks(source);
  if (!found) return found.error();
  if (!*found) return std::optional<WavHeader>();
  const Chunks& chunks = **found;
  if (data != nullptr) *data = chunks.data;
  WavHeader header;
  if (!read_format(std::span(chunks.format).first(chunks.format_bytes), header)) {
    return std::optional<WavHeader>();
  }
  const std::uint64_t said = std::min<std::uint64_t>(chunks.data.said, INT64_MAX);
  header.at = chunks.data.at;
  header.said = std::int64_t(said) / header.frame_bytes();
  header.there = std::int64_t(std::min(said, chunks.data.there)) / header.frame_bytes();
  return std::optional<WavHeader>(header);
}

AudioInfo info_of(const WavHeader& header) {
  static constexpr std::array<const char*, 6> codecs = {"pcm_u8",    "pcm_s16le", "pcm_s24le",
                                                        "pcm_s32le", "pcm_f32le", "pcm_f64le"};
  static constexpr std::array<std::pair<std::uint32_t, const char*>, 8> layouts = {
      {{0x4, "mono"},
       {0x3, "stereo"},
       {0xB, "2.1"},
       {0x33, "quad"},
       {0x37, "5.0"},
       {0x3F, "5.1"},
       {0x60F, "5.1(side)"},
       {0x63F, "7.1"}}};
  AudioInfo info;
  info.container = "wav";
  info.codec = codecs[std::size_t(header.coding)];
  info.sample_rate = header.sample_rate;
  info.channels = header.channels;
  info.bits = header.bits;
  info.duration = double(header.said) / header.sample_rate;
  info.layout = std::to_string(header.channels) + " channels";
  const std::uint32_t mask = header.mask != 0       ? header.mask
                             : header.channels == 1 ? 0x4u
                             : header.channels == 2 ? 0x3u
                                                    : 0u;
  for (const auto& [bits, name] : layouts) {
    if (bits == mask) info.layout = name;
  }
  return info;
}

bool wav_gives(const WavHeader& header, const AudioOptions& options) noexcept {
  if (options.stream > 0) return false;
  if (header.said == 0) return true;  // nothing at any rate
  if (options.sample_rate > 0 && options.sample_rate != header.sample_rate) return false;
  if (options.channels == 0 || options.channels == header.channels) return true;
  return options.channels == 1 && header.channels == 2 && options.dtype == DType::float32;
}

Result<Audio> load_wav(const storage::Source& source, const WavHeader& header,
                       const AudioOptions& options) {
  const double rate = header.sample_rate;
  const Part part = part_of(options, header.sample_rate);
  const std::int64_t first = part.first, end = std::min(part.end, header.said);
  if (first > 0 && first >= header.said) {
    return Error(Code::out_of_range,
                 "the sound ends before " + std::to_string(options.start) + " s")
        .in_file(source.name());
  }
  for (const int one : options.select) {
    if (one >= 0 && one < header.channels) continue;
    return Error(Code::out_of_range, "there is no channel " + std::to_string(one) + ": it has " +
                                         std::to_string(header.channels))
        .in_file(source.name());
  }
  Audio audio;
  audio.sample_rate = options.sample_rate > 0 ? options.sample_rate : header.sample_rate;
  audio.start = double(first) / rate;
  if (end > header.there) {
    char place[48];
    std::snprintf(place, sizeof place, "at %.3f s: ", double(header.there) / rate);
    audio.failure = Error(Code::corrupt, std::string(place) + "the file ends, though its header " +
                                             "tells of " + std::to_string(header.said) + " samples")
                        .in_file(source.name());
    if (!options.partial) return *std::move(audio.failure);
  }
  const std::int64_t count = std::max<std::int64_t>(std::min(end, header.there) - first, 0);
  const std::uint64_t from = header.at + std::uint64_t(first * header.frame_bytes());
  const std::uint64_t bytes = std::uint64_t(count * header.frame_bytes());

  const bool mixed = options.channels > 0 && options.channels != header.channels;
  const std::int64_t channels = mixed                    ? options.channels
                                : options.select.empty() ? header.channels
                                                         : std::int64_t(options.select.size());
  Result<Tensor> made =
      Tensor::empty(result_pool(), options.dtype,
                    options.channels_first ? Dims{channels, count} : Dims{count, channels});
  if (!made) return std::move(made).error();
  audio.samples = *std::move(made);
  if (count == 0) return audio;
  const bool as_stored = !options.channels_first && options.select.empty() && !mixed &&
                         options.dtype == (header.coding == WavCoding::s16   ? DType::int16
                                           : header.coding == WavCoding::f32 ? DType::float32
                                                                             : DType::boolean);
  if (as_stored) {
    if (Status s = source.read(from, {audio.samples.raw(), bytes}); !s) return std::move(s).error();
    return audio;
  }
  // A block at a time, which stays in cache.
  constexpr std::int64_t kBlock = std::int64_t{1} << 18;
  const std::int64_t step = std::max<std::int64_t>(kBlock / header.frame_bytes(), 1);
  ScratchLease block(ScratchUse::raw, std::size_t(step * header.frame_bytes()));
  if (!block) return Error(Code::out_of_memory, "no memory for samples");
  WavRows rows{header.coding, header.channels,        options.select,
               mixed,         options.channels_first, count};
  for (std::int64_t done = 0; done < count; done += step) {
    const std::int64_t some = std::min(step, count - done);
    const std::span into(reinterpret_cast<std::byte*>(block.data()),
                         std::size_t(some * header.frame_bytes()));
    Status s = source.read(from + std::uint64_t(done * header.frame_bytes()), into);
    if (!s) return std::move(s).error();
    if (options.dtype == DType::float32) {
      rows.convert(block.data(), done, some, audio.samples.data<float>());
    } else {
      rows.convert(block.data(), done, some, audio.samples.data<std::int16_t>());
    }
  }
  return audio;
}

}  // namespace penstock::media

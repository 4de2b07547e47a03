#include "media/av/ffmpeg/sniff.h"

#include <array>
#include <cstring>

namespace penstock::media::av {

const AVInputFormat* sniff(const storage::Source& source) {
  std::array<std::byte, 12> head{};
  if (source.size() < head.size() || !source.read(0, head)) return nullptr;
  const auto has = [&head](std::size_t at, const char* text) {
    return std::memcmp(head.data() + at, text, 4) == 0;
  };
  const char* name = has(0, "fLaC")               ? "flac"
                     : has(0, "OggS")             ? "ogg"
                     : has(4, "ftyp")             ? "mov"
                     : has(0, "\x1A\x45\xDF\xA3") ? "matroska"
                                                  : nullptr;
  return name != nullptr ? av_find_input_format(name) : nullptr;
}

}  // namespace penstock::media::av

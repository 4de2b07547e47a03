// The header of a FLAC frame: where the frame says that it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace penstock::media::av {

struct FlacFrame {
  // Its first sample. Nothing: it says how many frames are before it, and these have no one size.
  std::optional<std::int64_t> first;
  std::int64_t samples = 0;
};

// `info`: the body of the file's STREAMINFO block. Nothing: there is no header, or a damaged one.
std::optional<FlacFrame> flac_frame(std::span<const std::uint8_t> packet,
                                    std::span<const std::uint8_t> info);

}  // namespace penstock::media::av

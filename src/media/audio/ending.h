// Files that end before they say they do, where FFmpeg takes the end of the file for that of the
// sound.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "storage/source.h"

namespace penstock::media {

// What is wrong with the end of an Ogg, Matroska, AVI, AIFF or AU file; empty: nothing, or it
// cannot be known. `container`: as FFmpeg calls it.
std::string early_end(const storage::Source& source, const std::string& container);

// What the header of a WAV or CAF file says of where its samples end.
enum class SaidEnd : std::uint8_t {
  here,     // in the file; or it is no such file
  beyond,   // behind the end of the file: it was cut off
  nowhere,  // pipes leave it open: they go on to the end of the file
};
SaidEnd said_end(const storage::Source& source, const std::string& container);

}  // namespace penstock::media

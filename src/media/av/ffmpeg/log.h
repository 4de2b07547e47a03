// What FFmpeg says while we call it: kept, counted and never printed. Decoders tell of damage in
// messages that they mark nowhere else.
//
// Thread safety: a Listening belongs to the thread that made it. FFmpeg's log stays as it is for
// whoever else uses the same libraries.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::media::av {

struct Messages {
  std::int64_t errors = 0;
  std::int64_t gaps = 0;  // in the numbers of pictures of H.264
  std::string first;      // of the errors
};

// Catches the messages of this thread while it lives. May be nested.
class Listening {
 public:
  explicit Listening(Messages& into) noexcept;
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Messages* before_;
};

// Once, before the first Listening.
void listen_to_log();

}  // namespace penstock::media::av

#include "media/av/ffmpeg/log.h"

#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string_view>

#include "media/av/ffmpeg/headers.h"

namespace penstock::media::av {
namespace {

thread_local Messages* listener = nullptr;

// An H.264 decoder that begins at a key frame other than IDR is told to forget pictures that it has
// never seen.
bool is_harmless(const char* format) {
  return std::string_view(format).starts_with("mmco: unref short failure");
}

bool is_gap(const char* format) {
  return std::string_view(format).starts_with("Frame num gap");
}

void take(void* context, int level, const char* format, va_list arguments) {
  if (listener == nullptr) {
    av_log_default_callback(context, level, format, arguments);
    return;
  }
  if (level == AV_LOG_DEBUG && is_gap(format)) ++listener->gaps;
  if (level > AV_LOG_ERROR || is_harmless(format)) return;
  ++listener->errors;
  if (!listener->first.empty()) return;
  char text[256];
  const int size = std::vsnprintf(text, sizeof text, format, arguments);
  if (size <= 0) return;
  try {
    listener->first = text;
    while (!listener->first.empty() && listener->first.back() <= ' ') listener->first.pop_back();
  } catch (const std::exception&) {  // no memory for a message: it stays counted
  }
}

}  // namespace

Listening::Listening(Messages& into) noexcept : before_(listener) {
  listener = &into;
}

Listening::~Listening() {
  listener = before_;
}

void listen_to_log() {
  av_log_set_callback(&take);
}

}  // namespace penstock::media::av

// Scanner: the records of a TFRecord stream, also of a damaged one.
//
// A header whose checksum is wrong says nothing of where the next record is. Then every offset is
// tried until one is the beginning of a record that is sound as a whole; what lies between is lost.
// So it is with a length beyond the end of the file, if there is such a record behind it; if there
// is none, the file was cut.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/tfrecord/frame.h"
#include "formats/window.h"
#include "penstock/error.h"

namespace penstock::formats::tfrecord {

class Scanner {
 public:
  enum class Event : std::uint8_t {
    record,  // payload() and size() say where
    damage,  // bytes from start() to position() are lost
    cut,     // the stream ends inside the record at start()
    end,
  };

  explicit Scanner(Window& window) noexcept : window_(&window) {}

  Result<Event> next();

  std::uint64_t start() const noexcept { return start_; }
  std::uint64_t payload() const noexcept { return start_ + kHeaderBytes; }
  std::uint64_t size() const noexcept { return size_; }
  // Where the next record begins. What lies before it is only needed by who wants the payload.
  std::uint64_t position() const noexcept { return position_; }

 private:
  // `without`: what it is if no sound record follows.
  Result<Event> search(Event without);
  Result<bool> begins_at(std::uint64_t offset, std::uint64_t length);

  Window* window_;
  std::uint64_t start_ = 0, size_ = 0, position_ = 0;
  bool ended_ = false;
};

}  // namespace penstock::formats::tfrecord

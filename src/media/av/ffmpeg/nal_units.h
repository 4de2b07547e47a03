// Packets of H.264 and HEVC taken apart into NAL units, and what was put into these to keep them
// from looking like the beginning of another.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::media::av {

using Bytes = std::span<const std::uint8_t>;

// How many bytes the length of a unit takes; 0: units are divided by start codes.
inline std::size_t length_bytes(Bytes extradata, bool hevc) {
  const std::size_t at = hevc ? 21 : 4;
  return extradata.size() > at && extradata[0] == 1 ? (extradata[at] & 3) + 1u : 0;
}

// The units of a packet, one after the other.
class Units {
 public:
  Units(Bytes packet, std::size_t length_bytes) : rest_(packet), length_bytes_(length_bytes) {}

  // Goes on to the next one that is not empty; false: there is none. With start codes nothing
  // behind the unit's first byte has been looked at yet.
  bool next() {
    if (length_bytes_ == 0) {
      rest_ = rest_.subspan(start_code());
      if (rest_.size() < 4) return false;
      rest_ = rest_.subspan(3);
      return true;
    }
    do {
      rest_ = rest_.subspan(size_);
      if (rest_.size() < length_bytes_) return false;
      size_ = 0;
      for (std::size_t i = 0; i < length_bytes_; ++i) size_ = size_ << 8 | rest_[i];
      rest_ = rest_.subspan(length_bytes_);
      if (size_ > rest_.size()) return false;
    } while (size_ == 0);
    return true;
  }

  std::uint8_t first() const { return rest_[0]; }
  // All of it, without zeros that fill it up.
  Bytes unit() const {
    Bytes whole = rest_.first(length_bytes_ > 0 ? size_ : start_code());
    while (!whole.empty() && whole.back() == 0) whole = whole.first(whole.size() - 1);
    return whole;
  }

 private:
  // Where 00 00 01 is; the end if nowhere.
  std::size_t start_code() const {
    for (std::size_t i = 0; i + 3 <= rest_.size(); ++i) {
      if (rest_[i] == 0 && rest_[i + 1] == 0 && rest_[i + 2] == 1) return i;
    }
    return rest_.size();
  }

  Bytes rest_;  // from this unit on
  std::size_t length_bytes_;
  std::size_t size_ = 0;
};

// The bytes of a unit as they were before it was kept from looking like a start code: a 3 behind
// two zeros was put there.
class Unescaped {
 public:
  explicit Unescaped(Bytes unit) : rest_(unit) {}

  std::optional<std::uint8_t> next() {
    if (zeros_ >= 2 && !rest_.empty() && rest_[0] == 3) rest_ = rest_.subspan(1), zeros_ = 0;
    if (rest_.empty()) return std::nullopt;
    const std::uint8_t byte = rest_[0];
    rest_ = rest_.subspan(1);
    zeros_ = byte == 0 ? zeros_ + 1 : 0;
    return byte;
  }

 private:
  Bytes rest_;
  std::size_t zeros_ = 0;
};

}  // namespace penstock::media::av

// Wire: the fields of a serialized protobuf message, one after the other. Reads nothing outside its
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock::formats::tfrecord {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

class Wire {
 public:
  explicit Wire(std::span<const std::byte> bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // The next field: its number and type, and its value in number() or bytes(). False at the end,
  // and where the bytes are no message: ok() tells which.
  bool next() noexcept {
    std::uint64_t tag = 0;
    if (at_ == end_) return false;
    if (!varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return fail();
    field_ = std::uint32_t(tag >> 3);
    type_ = WireType(tag & 7);
    switch (type_) {
      case WireType::varint:
        return varint(number_) || fail();
      case WireType::fixed64:
        return take(8) || fail();
      case WireType::fixed32:
        return take(4) || fail();
      case WireType::bytes:
        return (varint(number_) && take(number_)) || fail();
    }
    return fail();  // groups, which no writer of today makes
  }

  bool ok() const noexcept { return ok_; }
  std::uint32_t field() const noexcept { return field_; }
  WireType type() const noexcept { return type_; }
  bool is(std::uint32_t field, WireType type) const noexcept {
    return field_ == field && type_ == type;
  }
  std::uint64_t number() const noexcept { return number_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  // A packed number from the front of `bytes`; false if there is none.
  static bool varint(std::span<const std::byte>& bytes, std::uint64_t& into) noexcept {
    std::uint64_t value = 0;
    const std::size_t most = bytes.size() < 10 ? bytes.size() : 10;
    for (std::size_t i = 0; i < most; ++i) {
      const auto byte = std::uint64_t(bytes[i]);
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        bytes = bytes.subspan(i + 1);
        into = value;
        return true;
      }
    }
    return false;
  }

 private:
  bool fail() noexcept {
    ok_ = false;
    at_ = end_;
    return false;
  }
  bool varint(std::uint64_t& into) noexcept {
    std::span<const std::byte> rest(at_, end_);
    if (!varint(rest, into)) return false;
    at_ = rest.data();
    return true;
  }
  bool take(std::uint64_t size) noexcept {
    if (size > std::uint64_t(end_ - at_)) return false;
    bytes_ = {at_, std::size_t(size)};
    at_ += size;
    return true;
  }

  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  std::uint64_t number_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace penstock::formats::tfrecord

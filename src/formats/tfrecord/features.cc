#include "formats/tfrecord/features.h"

#include <algorithm>

namespace penstock::formats::tfrecord {
namespace {

// Numbers are packed into one field, or come as a field each: readers take both.
template <class Packed, class Single>
bool each_value(const FeatureBody& body, WireType single_type, const Packed& packed,
                const Single& single) {
  Wire wire(body.list);
  while (wire.next()) {
    if (wire.is(1, WireType::bytes)) {
      if (!packed(wire.bytes())) return false;
    } else if (wire.is(1, single_type)) {
      single(wire);
    }
  }
  return wire.ok();
}

bool count_packed_integers(std::span<const std::byte> bytes, std::size_t& count) noexcept {
  if (bytes.empty()) return true;
  if (bytes.back() >= std::byte{0x80}) return false;
  std::size_t run = 0;  // bytes of the number so far
  for (const std::byte byte : bytes) {
    ++run;
    if (byte >= std::byte{0x80}) continue;
    if (run > 10) return false;
    run = 0;
    ++count;
  }
  return true;
}

}  // namespace

bool count_values(const FeatureBody& body, std::size_t& into) noexcept {
  std::size_t count = 0;
  const auto one = [&](const Wire&) { ++count; };
  bool ok = true;
  switch (body.kind) {
    case kBytesList:
      ok = each_value(
          body, WireType::bytes, [&](std::span<const std::byte>) { return ++count, true; }, one);
      break;
    case kFloatList:
      ok = each_value(
          body, WireType::fixed32,
          [&](std::span<const std::byte> bytes) {
            count += bytes.size() / 4;
            return bytes.size() % 4 == 0;
          },
          one);
      break;
    case kInt64List:
      ok = each_value(
          body, WireType::varint,
          [&](std::span<const std::byte> bytes) { return count_packed_integers(bytes, count); },
          one);
      break;
    default:
      break;
  }
  into = count;
  return ok;
}

void copy_integers(const FeatureBody& body, std::int64_t* into) noexcept {
  each_value(
      body, WireType::varint,
      [&](std::span<const std::byte> bytes) {
        for (std::uint64_t number; Wire::varint(bytes, number);) *into++ = std::int64_t(number);
        return true;
      },
      [&](const Wire& wire) { *into++ = std::int64_t(wire.number()); });
}

void copy_floats(const FeatureBody& body, float* into) noexcept {
  const auto copy = [&](std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
    into += bytes.size() / 4;
    return true;
  };
  each_value(body, WireType::fixed32, copy, [&](const Wire& wire) { copy(wire.bytes()); });
}

}  // namespace penstock::formats::tfrecord

// Features: what an Example holds, found but not yet decoded.
//
//   Example         { Features features = 1 }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2 }
//   Features        { map<string, Feature> feature = 1 }
//   FeatureLists    { map<string, FeatureList> feature_list = 1 }
//   FeatureList     { repeated Feature feature = 1 }
//   Feature         { oneof: BytesList = 1, FloatList = 2, Int64List = 3 }
//   ...List         { repeated value = 1 }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "formats/tfrecord/wire.h"

namespace penstock::formats::tfrecord {

// The list inside a Feature; kind is its number there, 0 if there is none.
struct FeatureBody {
  std::uint32_t kind = 0;
  std::span<const std::byte> list;
};
inline constexpr std::uint32_t kBytesList = 1, kFloatList = 2, kInt64List = 3;

// False if the bytes are no Feature. One that comes in pieces, which protobuf would join, is none:
// no writer makes that.
inline bool body_of(std::span<const std::byte> feature, FeatureBody& into) noexcept {
  into = {};
  Wire wire(feature);
  while (wire.next()) {
    if (wire.type() != WireType::bytes || wire.field() > kInt64List) continue;
    if (into.kind == wire.field()) return false;
    into = {wire.field(), wire.bytes()};
  }
  return wire.ok();
}

// Calls found(name, message, in_steps) for each entry; in_steps: the message is a FeatureList, else
// a Feature. False if the bytes are no Example.
template <class Found>
bool each_feature(std::span<const std::byte> record, const Found& found) {
  Wire top(record);
  while (top.next()) {
    if (top.type() != WireType::bytes || top.field() > 2) continue;
    Wire map(top.bytes());
    while (map.next()) {
      if (!map.is(1, WireType::bytes)) continue;
      Wire entry(map.bytes());
      std::span<const std::byte> name, message;
      int messages = 0;
      while (entry.next()) {
        if (entry.is(1, WireType::bytes)) name = entry.bytes();
        if (!entry.is(2, WireType::bytes)) continue;
        message = entry.bytes();
        ++messages;
      }
      if (!entry.ok() || messages > 1) return false;
      found(std::string_view(reinterpret_cast<const char*>(name.data()), name.size()), message,
            top.field() == 2);
    }
    if (!map.ok()) return false;
  }
  return top.ok();
}

// Calls found(body) for each step of a FeatureList. False if the bytes are none.
template <class Found>
bool each_step(std::span<const std::byte> list, const Found& found) {
  Wire wire(list);
  while (wire.next()) {
    if (!wire.is(1, WireType::bytes)) continue;
    FeatureBody body;
    if (!body_of(wire.bytes(), body)) return false;
    found(body);
  }
  return wire.ok();
}

// How many values a list has; false if the bytes are no such list.
bool count_values(const FeatureBody& body, std::size_t& into) noexcept;

// Its values; `into` has room for them all, at natural alignment.
void copy_integers(const FeatureBody& body, std::int64_t* into) noexcept;
void copy_floats(const FeatureBody& body, float* into) noexcept;

}  // namespace penstock::formats::tfrecord

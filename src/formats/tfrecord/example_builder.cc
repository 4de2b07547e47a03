#include <cstring>

#include "formats/tfrecord/features.h"
#include "formats/tfrecord/writer.h"

namespace penstock::formats::tfrecord {
namespace {

void put_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(char(number | 0x80));
  to.push_back(char(number));
}

void put_tag(std::string& to, std::uint32_t field, WireType type) {
  put_varint(to, std::uint64_t(field) << 3 | std::uint64_t(type));
}

void put_bytes(std::string& to, std::uint32_t field, std::string_view bytes) {
  put_tag(to, field, WireType::bytes);
  put_varint(to, bytes.size());
  to += bytes;
}

}  // namespace

void ExampleBuilder::add(std::string_view name, std::uint32_t kind, const std::string& list) {
  std::string feature, entry;
  put_bytes(feature, kind, list);
  put_bytes(entry, 1, name);
  put_bytes(entry, 2, feature);
  put_bytes(features_, 1, entry);
}

void ExampleBuilder::add_bytes(std::string_view name,
                               std::span<const std::span<const std::byte>> values) {
  std::string list;
  for (const std::span<const std::byte> value : values) {
    put_bytes(list, 1, {reinterpret_cast<const char*>(value.data()), value.size()});
  }
  add(name, kBytesList, list);
}

void ExampleBuilder::add_integers(std::string_view name, std::span<const std::int64_t> values) {
  std::string packed, list;
  for (const std::int64_t value : values) put_varint(packed, std::uint64_t(value));
  if (!values.empty()) put_bytes(list, 1, packed);
  add(name, kInt64List, list);
}

void ExampleBuilder::add_floats(std::string_view name, std::span<const float> values) {
  std::string list;
  const std::span<const std::byte> bytes = std::as_bytes(values);
  if (!values.empty()) {
    put_bytes(list, 1, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  add(name, kFloatList, list);
}

std::string ExampleBuilder::finish() {
  std::string example;
  put_bytes(example, 1, features_);
  features_.clear();
  return example;
}

}  // namespace penstock::formats::tfrecord

// Row: a sample on its way from a record to its place in a batch.
//
// Thread safety: plain values; a row belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/json.h"
#include "penstock/buffer.h"
#include "penstock/tensor.h"

namespace penstock::data {

// A value of another language, which this library only hands on.
using Object = std::shared_ptr<void>;

// Bytes that live as long as their owner: memory of a pool, or an object of another language.
struct Bytes {
  std::span<const std::byte> bytes;
  Buffer memory;
  Object owner;

  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};
struct Text : Bytes {};  // UTF-8

// Several of them, all in one memory.
struct BytesList {
  std::vector<std::span<const std::byte>> items;
  Buffer memory;
};

// Values of their own, one for each part of a row: arrays of different lengths, say.
struct List;
using ListPtr = std::shared_ptr<const List>;

// The value is in the batch already: in this slot array, at the row's place.
struct Placed {
  std::size_t array;
};

using Value = std::variant<std::monostate, Bytes, Text, std::int64_t, double, bool, Tensor, Placed,
                           Object, BytesList, JsonPtr, ListPtr>;

struct List {
  std::vector<Value> items;
};

struct RowField {
  std::string name;
  Value value;
};

struct Row {
  std::vector<RowField> fields;

  Value* find(std::string_view name) noexcept {
    for (RowField& field : fields) {
      if (field.name == name) return &field.value;
    }
    return nullptr;
  }
  const Value* find(std::string_view name) const noexcept {
    return const_cast<Row*>(this)->find(name);
  }
  void set(std::string_view name, Value value) {
    if (Value* known = find(name)) {
      *known = std::move(value);
    } else {
      fields.push_back({std::string(name), std::move(value)});
    }
  }
  std::string names() const {  // for messages
    std::string all;
    for (const RowField& field : fields) all += (all.empty() ? "" : ", ") + field.name;
    return all;
  }
};

}  // namespace penstock::data

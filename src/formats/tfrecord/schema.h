// What fields an Example is to be parsed into, as users write it: {"image": "bytes", "label":
// "int64", "box": "float[4]", "tokens": "int64[]"}.
//
//   int64, float, bytes, text      one value
//   float[4], int64[2,3]           so many, in this shape
//   float[], bytes[]               as many as there are, in a row; for a list of a SequenceExample:
//                                  one for each step
//   float[][4]                     of a SequenceExample: four for each step
//   int64[][], bytes[][]           of a SequenceExample: as many as each step has
//   raw                            the record as it is, whatever it is called
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/error.h"
#include "penstock/tensor.h"

namespace penstock::formats::tfrecord {

enum class FeatureKind : std::uint8_t { bytes, text, int64, float32, raw };

struct FeatureSpec {
  std::string name;
  FeatureKind kind = FeatureKind::bytes;
  std::optional<Dims> shape;  // none: one value. The first extent may be -1: any.
  bool ragged = false;        // "[][]": the shape is [-1], of steps of any length

  bool open() const noexcept { return shape && shape->rank() > 0 && (*shape)[0] < 0; }
  std::string text() const;  // "float[4]"
};

// From a name and what was written for it.
Result<FeatureSpec> parse_spec(std::string name, std::string_view text);

struct Inferred {
  std::vector<FeatureSpec> specs;    // sorted by name; the record itself can be parsed by them
  std::vector<std::string> untyped;  // what it has, but without a value or list to tell a type by
};

// What is in this record: one value where it has one, else "[]"; of steps "[]" where each has one,
// "[][4]" where each has four, "[][]" where they differ or have none. Nothing if it is no Example
// with features.
Inferred infer(std::span<const std::byte> record);

}  // namespace penstock::formats::tfrecord

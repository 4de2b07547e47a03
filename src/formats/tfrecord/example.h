// tf.train.Example and tf.train.SequenceExample, parsed from their bytes without protobuf.
//
// Thread safety: an ExampleParser never changes; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/tfrecord/schema.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::formats::tfrecord {

// What a record holds for one field of the schema.
struct FeatureValue {
  std::span<const std::byte> bytes;  // bytes, text, raw: a view of the record
  std::int64_t integer = 0;
  float real = 0;
  Dims shape;              // of an array of numbers
  std::size_t offset = 0;  // where its elements lie in the memory that came with it
  std::vector<std::span<const std::byte>> items;  // of a list of bytes: views of the record
  std::vector<std::size_t> lengths;  // of ragged steps: how many elements or items each has
};

class ExampleParser {
 public:
  explicit ExampleParser(std::vector<FeatureSpec> specs) : specs_(std::move(specs)) {}

  const std::vector<FeatureSpec>& specs() const noexcept { return specs_; }

  // into[i] belongs to specs()[i]. `memory` receives the arrays of numbers, if there are any;
  // ragged steps lie in it one after the other. Fails with corrupt if the record is no Example,
  // lacks a field or has another number of values, with invalid_argument if steps of several
  // lengths are to have one. A field that may have any number of values may be absent: then it has
  // none.
  Status parse(std::span<const std::byte> record, BufferPool& pool, std::vector<FeatureValue>& into,
               Buffer& memory) const;

 private:
  std::vector<FeatureSpec> specs_;
};

}  // namespace penstock::formats::tfrecord

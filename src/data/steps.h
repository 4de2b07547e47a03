// RowStep: native work on one row. Steps between two calls of another language form a chain that
// one worker carries out in one go.
//
// Thread safety: steps are immutable and may run for any number of rows at once.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/row.h"
#include "formats/tfrecord/schema.h"
#include "media/image/crop_request.h"
#include "penstock/error.h"
#include "penstock/media.h"
#include "penstock/random.h"
#include "transform/finish.h"

namespace penstock::data {

// What a step knows of the row it works on.
struct RowTask {
  RandomKey key;                       // of (seed, epoch)
  std::uint64_t position = 0;          // in the global order
  BufferPool& pool;                    // for memory that rows hold
  std::span<const Tensor> slots = {};  // arrays of the batch; empty if the row stands alone
  std::size_t slot = 0;
};

class RowStep {
 public:
  virtual ~RowStep() = default;
  virtual Status run(const RowTask& task, Row& row) const = 0;
  // For the name of the stage: "decode_image jpg". Empty: not worth a mention.
  virtual std::string name() const { return {}; }
};
using StepPtr = std::shared_ptr<const RowStep>;

// Keeps these fields, in this order. A field that a row lacks is an Error.
StepPtr select_step(std::vector<std::string> names);
// (old, new) pairs.
StepPtr rename_step(std::vector<std::pair<std::string, std::string>> names);
// What the bytes of a field are: "cls" an integer in ASCII, "txt" UTF-8, "json", "npy" an array.
Result<StepPtr> decode_step(std::string field, const std::string& kind);

// The record in field "data" as a tf.train.Example: its features take the place of all fields.
StepPtr example_step(std::vector<formats::tfrecord::FeatureSpec> specs);

// Tokens as int64; what a window lacks is filled with `pad`.
struct TokenWork {
  std::string field;
  DType dtype = DType::uint16;  // in the file: uint16, uint32 or int32
  std::size_t window = 0;
  std::int64_t pad = 0;
  std::optional<std::size_t> array;  // the slot array, if the result goes straight into the batch
};
StepPtr token_step(TokenWork work);

// The bytes of a field as an array: straight into the batch, or in memory of the row's own.
struct ArrayWork {
  std::string field;
  DType dtype = DType::uint8;
  Dims shape;  // the first extent may be -1: as many as there are; then it has no slot
  std::optional<std::size_t> array;  // the slot array, if the result goes straight into the batch
};
Result<StepPtr> array_step(ArrayWork work);

struct ImageField {
  std::string name;
  DecodeOptions options;
  std::optional<Filter> filter;      // none: the crop's
  FinishSpec finish;                 // of the slot
  std::optional<std::size_t> array;  // the slot array, if the result goes straight into the batch
};

struct ImageWork {
  std::vector<ImageField> fields;  // share crop and flip
  media::CropRequest crop;
  std::uint32_t ordinal = 0;  // of this random operation in the plan
  std::string box;            // a field for the crop: left, top, right, bottom; empty: none
};
Result<StepPtr> image_step(ImageWork work);

// An array as numpy.save writes it: a view of `bytes`. Nothing is executed: arrays of objects are
// refused.
Result<Tensor> parse_npy(const Bytes& bytes);

}  // namespace penstock::data

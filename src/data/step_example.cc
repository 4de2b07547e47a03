// From the bytes of an Example to fields.
#include "data/steps.h"
#include "formats/tfrecord/example.h"

namespace penstock::data {
namespace {

using formats::tfrecord::ExampleParser;
using formats::tfrecord::FeatureKind;
using formats::tfrecord::FeatureSpec;
using formats::tfrecord::FeatureValue;

// A list for the steps: an array of each, or a list of bytes.
Result<Value> steps_of(const FeatureSpec& spec, const FeatureValue& feature, const Buffer& record,
                       const Buffer& memory) {
  auto list = std::make_shared<List>();
  list->items.reserve(feature.lengths.size());
  std::size_t at = 0;
  for (const std::size_t length : feature.lengths) {
    if (spec.kind == FeatureKind::bytes) {
      const auto* first = feature.items.data() + at;
      list->items.emplace_back(BytesList{{first, first + length}, record});
    } else {
      const DType type = spec.kind == FeatureKind::int64 ? DType::int64 : DType::float32;
      const Dims shape{std::int64_t(length)};
      Result<Tensor> array =
          length > 0 ? Tensor::over(memory, type, shape, feature.offset + at * size_of(type))
                     : Tensor::empty(type, shape);
      if (!array) return std::move(array).error();
      list->items.emplace_back(*std::move(array));
    }
    at += length;
  }
  return Value(ListPtr(std::move(list)));
}

// `record` is the memory that the feature's bytes lie in, `memory` that of its numbers.
Result<Value> value_of(const FeatureSpec& spec, FeatureValue& feature, const Buffer& record,
                       const Buffer& memory) {
  if (spec.ragged) return steps_of(spec, feature, record, memory);
  if (spec.kind == FeatureKind::text) return Value(Text{{feature.bytes, record, {}}});
  if (spec.kind == FeatureKind::bytes && spec.shape) {
    return Value(BytesList{std::move(feature.items), record});
  }
  if (spec.kind == FeatureKind::bytes || spec.kind == FeatureKind::raw) {
    return Value(Bytes{feature.bytes, record, {}});
  }
  if (!spec.shape) {
    return spec.kind == FeatureKind::int64 ? Value(feature.integer) : Value(double{feature.real});
  }
  const DType type = spec.kind == FeatureKind::int64 ? DType::int64 : DType::float32;
  Result<Tensor> array = memory ? Tensor::over(memory, type, feature.shape, feature.offset)
                                : Tensor::empty(type, feature.shape);
  if (!array) return std::move(array).error();
  return Value(*std::move(array));
}

class Example final : public RowStep {
 public:
  explicit Example(std::vector<FeatureSpec> specs) : parser_(std::move(specs)) {}
  std::string name() const override { return "parse_example"; }

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find("data");
    const Bytes* found = value == nullptr ? nullptr : std::get_if<Bytes>(value);
    if (found == nullptr) {
      return Error(Code::no_field, "the sample has no bytes in a field 'data' to parse");
    }
    const std::span<const std::byte> bytes = found->bytes;
    const Buffer record =
        found->owner ? Buffer::wrap_read_only(bytes.data(), bytes.size(), [owner = found->owner] {})
                     : found->memory;
    thread_local std::vector<FeatureValue> features;
    Buffer memory;
    Status status = parser_.parse(bytes, task.pool, features, memory);
    if (!status) return status;
    row.fields.clear();
    row.fields.reserve(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
      const FeatureSpec& spec = parser_.specs()[i];
      Result<Value> made = value_of(spec, features[i], record, memory);
      if (!made) return std::move(made).error();
      row.fields.push_back({spec.name, *std::move(made)});
    }
    return {};
  }

 private:
  ExampleParser parser_;
};

}  // namespace

StepPtr example_step(std::vector<FeatureSpec> specs) {
  return std::make_shared<Example>(std::move(specs));
}

}  // namespace penstock::data

#include "data/collate.h"

#include <algorithm>
#include <cstring>

namespace penstock::data {
namespace {

template <class T>
constexpr std::size_t index_of() {
  return Value(T{}).index();
}

// Values that only ever make lists: their types may change from row to row.
bool is_loose(std::size_t type) {
  return type == index_of<std::monostate>() || type == index_of<Bytes>() ||
         type == index_of<Text>() || type == index_of<Object>() || type == index_of<BytesList>() ||
         type == index_of<JsonPtr>() || type == index_of<ListPtr>();
}

// What a number becomes in a batch; nothing: the value is not a single number.
std::optional<DType> type_of_number(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return DType::int64;
  if (std::holds_alternative<double>(value)) return DType::float32;
  if (std::holds_alternative<bool>(value)) return DType::boolean;
  return std::nullopt;
}

std::string words(const Value& value) {
  if (const Tensor* array = std::get_if<Tensor>(&value)) {
    return std::string(name_of(array->dtype())) + " of shape " + array->shape().to_string();
  }
  if (const std::optional<DType> number = type_of_number(value)) {
    return std::string(name_of(*number)) + " of shape ()";
  }
  static const char* names[] = {"nothing", "bytes", "text",     "",          "",
                                "",        "",      "an image", "an object", "a list of bytes",
                                "JSON",    "a list"};
  return names[value.index()];
}

// Memory that was set aside for the batch, or memory of its own while the schema is new.
Result<Tensor> make_array(Batch& batch, DType dtype, const Dims& shape) {
  if (batch.room) {
    Result<Tensor> made = Tensor::empty(*batch.room, dtype, shape);
    if (made) return made;
  }
  return Tensor::empty(dtype, shape);
}

Dims with_rows(std::size_t rows, const Dims& shape) {
  std::vector<std::int64_t> all{static_cast<std::int64_t>(rows)};
  all.insert(all.end(), shape.begin(), shape.end());
  return Dims(std::span<const std::int64_t>(all));
}

// Elements side by side, wherever they were.
Status copy_elements(const Tensor& from, std::byte* to) {
  if (from.nbytes() == 0) return {};
  if (from.is_contiguous()) {
    std::memcpy(to, from.raw(), from.nbytes());
    return {};
  }
  const Result<Tensor> dense = from.clone();
  if (!dense) return dense.error();
  std::memcpy(to, dense->raw(), dense->nbytes());
  return {};
}

// Single numbers, be they numbers or arrays without dimensions.
Result<Tensor> numbers(Batch& batch, const std::string& name, DType dtype,
                       const std::vector<std::size_t>& kept) {
  Result<Tensor> made = make_array(batch, dtype, {static_cast<std::int64_t>(kept.size())});
  if (!made) return made;
  std::byte* out = made->raw();
  for (const std::size_t row : kept) {
    const Value& value = *batch.work[row].row.find(name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      std::memcpy(out, whole, sizeof *whole);
    } else if (const auto* real = std::get_if<double>(&value)) {
      const auto stored = static_cast<float>(*real);
      std::memcpy(out, &stored, sizeof stored);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      std::memcpy(out, truth, sizeof *truth);
    } else if (const Status copied = copy_elements(std::get<Tensor>(value), out); !copied) {
      return copied.error();
    }
    out += size_of(dtype);
  }
  return made;
}

// The rows that are left move to the front.
Result<Tensor> close_ranks(const Tensor& slots, const std::vector<std::size_t>& kept) {
  if (kept.size() == static_cast<std::size_t>(slots.shape()[0])) return slots;  // all of them
  const std::size_t bytes = slots.nbytes() / static_cast<std::size_t>(slots.shape()[0]);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] != i) std::memcpy(slots.raw() + i * bytes, slots.raw() + kept[i] * bytes, bytes);
  }
  return slots.slice(0, 0, static_cast<std::int64_t>(kept.size()));
}

const Tensor& array_at(Batch& batch, std::size_t row, const std::string& name) {
  return std::get<Tensor>(*batch.work[row].row.find(name));
}

Result<Tensor> stack(Batch& batch, const std::string& name, const std::vector<std::size_t>& kept) {
  const Tensor& first = array_at(batch, kept[0], name);
  const std::size_t bytes = first.nbytes();
  Result<Tensor> made = make_array(batch, first.dtype(), with_rows(kept.size(), first.shape()));
  if (!made) return made;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Status copied = copy_elements(array_at(batch, kept[i], name), made->raw() + i * bytes);
    if (!copied) return copied.error();
  }
  return made;
}

Result<Tensor> stack_images(Batch& batch, const std::string& name, FinishSpec spec,
                            const std::vector<std::size_t>& kept) {
  const Dims& shape = array_at(batch, kept[0], name).shape();
  const std::size_t first = shape.rank() - 3;  // a video has frames before that
  spec.height = shape[first], spec.width = shape[first + 1];
  spec.channels = static_cast<int>(shape[first + 2]);
  if (const Status ok = check(spec); !ok) return ok.error();
  const std::size_t frames = first == 0 ? 1 : static_cast<std::size_t>(shape[0]);
  Dims image = shape;
  if (spec.layout == ImageLayout::chw) {
    image[first] = spec.channels, image[first + 1] = spec.height, image[first + 2] = spec.width;
  }
  Result<Tensor> made = make_array(batch, spec.type, with_rows(kept.size(), image));
  if (!made) return made;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Result<Tensor> pixels = array_at(batch, kept[i], name).clone();
    if (!pixels) return pixels;
    const std::uint8_t* row = pixels->data<std::uint8_t>();
    for (std::size_t frame = 0; frame < frames; ++frame) {
      std::byte* const to = made->raw() + (i * frames + frame) * spec.bytes();
      for (std::int64_t y = 0; y < spec.height; ++y, row += spec.width * spec.channels) {
        finish_row(spec, row, y, to);
      }
    }
  }
  return made;
}

// The same for images that stay apart: each row gets its own, in place of the pixels.
Status finish_images(Batch& batch, const std::string& name, FinishSpec spec,
                     const std::vector<std::size_t>& kept) {
  for (const std::size_t row : kept) {
    Value& value = *batch.work[row].row.find(name);
    const Tensor* array = std::get_if<Tensor>(&value);
    if (array == nullptr || array->dtype() != DType::uint8) continue;
    if (array->rank() != 3 && array->rank() != 4) continue;
    Result<Tensor> made = stack_images(batch, name, spec, {row});
    if (made) made = made->row(0);
    if (!made) return std::move(made).error();
    value = *std::move(made);
  }
  return {};
}

Result<Tensor> pad(Batch& batch, const std::string& name, DType dtype,
                   const std::vector<std::size_t>& kept) {
  Dims most = array_at(batch, kept[0], name).shape();
  for (const std::size_t row : kept) {
    const Dims& shape = array_at(batch, row, name).shape();
    for (std::size_t d = 0; d < most.rank(); ++d) most[d] = std::max(most[d], shape[d]);
  }
  Result<Tensor> made = Tensor::empty(dtype, with_rows(kept.size(), most));
  if (!made) return made;
  std::memset(made->raw(), 0, made->nbytes());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Tensor& from = array_at(batch, kept[i], name);
    Result<Tensor> corner = made->row(static_cast<std::int64_t>(i));
    for (std::size_t d = 0; corner && d < most.rank(); ++d) {
      corner = corner->slice(d, 0, from.shape()[d]);
    }
    if (!corner) return corner;
    // Runs of the last dimension: both sides have them side by side after a clone.
    const Result<Tensor> dense = from.clone();
    if (!dense) return dense;
    if (from.size() == 0) continue;
    const std::size_t element = size_of(from.dtype());
    const std::size_t run = most.rank() == 0 ? 1 : std::size_t(from.shape()[most.rank() - 1]);
    const std::size_t runs = static_cast<std::size_t>(from.size()) / run;
    for (std::size_t r = 0; r < runs; ++r) {
      std::int64_t offset = 0;
      std::size_t rest = r;
      for (std::size_t d = most.rank(); d-- > 1;) {
        const auto extent = static_cast<std::size_t>(from.shape()[d - 1]);
        offset += static_cast<std::int64_t>(rest % extent) * corner->strides()[d - 1];
        rest /= extent;
      }
      std::memcpy(corner->raw() + static_cast<std::size_t>(offset) * element,
                  dense->raw() + r * run * element, run * element);
    }
  }
  return made;
}

Result<Ragged> join(Batch& batch, const std::string& name, DType dtype,
                    const std::vector<std::size_t>& kept) {
  Result<Tensor> offsets = Tensor::empty(DType::int64, {std::int64_t(kept.size()) + 1});
  if (!offsets) return std::move(offsets).error();
  std::int64_t* at = offsets->data<std::int64_t>();
  *at = 0;
  for (const std::size_t row : kept) {
    at[1] = at[0] + array_at(batch, row, name).shape()[0];
    ++at;
  }
  Dims shape = array_at(batch, kept[0], name).shape();
  shape[0] = *at;
  Result<Tensor> values = Tensor::empty(dtype, shape);
  if (!values) return std::move(values).error();
  std::byte* out = values->raw();
  for (const std::size_t row : kept) {
    const Tensor& from = array_at(batch, row, name);
    if (const Status copied = copy_elements(from, out); !copied) return copied.error();
    out += from.nbytes();
  }
  return Ragged{*std::move(values), *std::move(offsets)};
}

std::vector<Value> list(Batch& batch, const std::string& name,
                        const std::vector<std::size_t>& kept) {
  std::vector<Value> values;
  values.reserve(kept.size());
  for (const std::size_t row : kept) values.push_back(std::move(*batch.work[row].row.find(name)));
  return values;
}

// May rows of these shapes stand in one column?
bool fit(Gather gather, const Dims& a, const Dims& b) {
  if (gather == Gather::stack) return a == b;
  if (gather == Gather::list) return true;
  if (a.rank() != b.rank()) return false;
  for (std::size_t d = 1; gather == Gather::ragged && d < a.rank(); ++d) {
    if (a[d] != b[d]) return false;
  }
  return true;
}

}  // namespace

void Collator::learn(const Row& row) {
  std::size_t bytes = 0;
  for (const RowField& field : row.fields) {
    Kind kind;
    kind.name = field.name;
    kind.type = field.value.index();
    kind.words = words(field.value);
    const auto named = options_.fields.find(field.name);
    const auto wanted = named != options_.fields.end() ? named : options_.fields.find(kAllFields);
    if (wanted != options_.fields.end()) kind.gather = wanted->second;
    if (const std::optional<DType> number = type_of_number(field.value)) {
      kind.numbers = true;
      kind.dtype = *number;
    }
    if (const Placed* placed = std::get_if<Placed>(&field.value)) kind.array = placed->array;
    if (const Tensor* array = std::get_if<Tensor>(&field.value)) {
      kind.numbers = true;
      kind.dtype = array->dtype();
      kind.shape = array->shape();
      const auto image = options_.images.find(field.name);
      const bool pixels =
          kind.dtype == DType::uint8 && (kind.shape.rank() == 3 || kind.shape.rank() == 4);
      if (image != options_.images.end() && pixels) kind.finish = image->second;
      const std::size_t element = kind.finish ? size_of(kind.finish->type) : 1;
      if (kind.gather == Gather::stack) bytes += array->nbytes() * element;
    } else if (!is_loose(kind.type) && kind.type != index_of<Placed>()) {
      bytes += 8;
    }
    // One word for all fields does not mean those that have nothing to join.
    const bool single = kind.numbers && kind.shape.rank() == 0;
    if (single && kind.gather == Gather::ragged && named == options_.fields.end()) {
      kind.gather = Gather::stack;
    }
    kinds_.push_back(std::move(kind));
  }
  known_ = true;
  row_bytes_ = bytes;
}

bool Collator::fits(const Kind& kind, const Value& value) {
  if (kind.gather == Gather::list) return true;
  if (is_loose(value.index()) && is_loose(kind.type)) return true;
  const Tensor* array = std::get_if<Tensor>(&value);
  if (array == nullptr) {
    if (value.index() == kind.type) return true;
    return kind.numbers && kind.shape.rank() == 0 && type_of_number(value) == kind.dtype;
  }
  if (!kind.numbers || !fit(kind.gather, kind.shape, array->shape())) return false;
  // What has no elements has none of a wrong type: an empty list.
  const bool nothing = kind.gather != Gather::stack && array->size() == 0;
  return array->dtype() == kind.dtype || nothing;
}

std::string Collator::others_that_fit(Kind kind, const Value& value) {
  std::string all;
  for (const auto& [gather, word] : {std::pair(Gather::pad, "pad"), {Gather::ragged, "ragged"}}) {
    kind.gather = gather;
    if (fits(kind, value)) all += (all.empty() ? " (or \"" : ", \"") + std::string(word) + "\"";
  }
  return all.empty() ? all : all + ")";
}

Status Collator::check(const Row& row) const {
  const auto refuse = [this](std::string what) {
    return Error(Code::invalid_argument, std::move(what) + " (the schema is that of sample " +
                                             first_ + ", the first of this loader)");
  };
  for (const Kind& kind : kinds_) {
    const Value* value = const_cast<Row&>(row).find(kind.name);
    if (value == nullptr) {
      return refuse("the sample has no field '" + kind.name + "'; it has: " + row.names());
    }
    if (fits(kind, *value)) continue;
    return refuse("field '" + kind.name + "' is " + words(*value) + ", but " + first_ + " has " +
                  kind.words + "; collate={\"" + kind.name + "\": \"list\"}" +
                  others_that_fit(kind, *value) + " takes rows that differ");
  }
  if (row.fields.size() != kinds_.size()) {
    return refuse("the sample has fields that the first one has not; it has: " + row.names());
  }
  return {};
}

Result<Column> Collator::column(Batch& batch, const Kind& kind, const Kept& kept) const {
  const auto made = [&](auto result) -> Result<Column> {
    if (!result && result.error().code() == Code::out_of_memory) {
      return Error(Code::out_of_memory,
                   "batch: field '" + kind.name + "' of " + std::to_string(kept.size()) +
                       " rows: " + result.error().message() + "; give batch a smaller size");
    }
    if (!result) return std::move(result).error();
    return Column{kind.name, *std::move(result)};
  };
  if (kind.type == index_of<Placed>()) return made(close_ranks(batch.slots[kind.array], kept));
  if (kind.finish && kind.gather != Gather::stack) {
    if (kind.gather == Gather::ragged && kind.finish->layout == ImageLayout::chw) {
      return Error(Code::invalid_argument, "collate: '" + kind.name +
                                               "' cannot be ragged with its channels first; take "
                                               "layout=\"NHWC\", or collate=\"list\"");
    }
    const Status finished = finish_images(batch, kind.name, *kind.finish, kept);
    if (!finished) return finished.error();
  }
  if (is_loose(kind.type) || kind.gather == Gather::list) {
    return Column{kind.name, list(batch, kind.name, kept)};
  }
  if (kind.shape.rank() == 0) {
    if (kind.gather == Gather::ragged) {
      return Error(Code::invalid_argument,
                   "collate: '" + kind.name + "' holds single values, which cannot be ragged");
    }
    return made(numbers(batch, kind.name, kind.dtype, kept));
  }
  if (kind.finish && kind.gather == Gather::stack)
    return made(stack_images(batch, kind.name, *kind.finish, kept));
  const DType dtype = kind.finish ? kind.finish->type : kind.dtype;  // images are finished by now
  if (kind.gather == Gather::pad) return made(pad(batch, kind.name, dtype, kept));
  if (kind.gather == Gather::ragged) return made(join(batch, kind.name, dtype, kept));
  return made(stack(batch, kind.name, kept));
}

// A row that does not fit fails, and another may take its place.
void Collator::admit(Batch& batch, std::size_t row, const RowName& name, const Replace& replace) {
  BatchRow& one = batch.work[row];
  if (!known_) {
    first_ = name(row);
    learn(one.row);
  }
  Status status = check(one.row);
  if (status.ok()) return;
  one.state = RowState::failed;
  // If it stands for one that had failed before, that error is the sample's.
  if (!one.error) {
    one.error = std::make_unique<Error>(std::move(status).error().of_sample(name(row)));
  }
  if (replace) replace(row, [this](const Row& other) { return check(other).ok(); });
}

void Collator::finish(Batch& batch, const RowName& name, std::span<const PlacedField> placed,
                      const Replace& replace) {
  Kept kept;
  if (options_.alone) {
    known_ = false;
    kinds_.clear();
  }
  kept.reserve(batch.work.size());
  for (std::size_t i = 0; i < batch.work.size(); ++i) {
    BatchRow& one = batch.work[i];
    const bool empty = known_ && kinds_.empty() && one.row.fields.empty();  // nothing to check
    if (one.state == RowState::open && !empty) admit(batch, i, name, replace);
    if (one.state == RowState::open) kept.push_back(i);
    if (one.error) {
      batch.errors.push_back({batch.position(i), name(i), std::move(*one.error),
                              i >= batch.rows.valid, one.state != RowState::failed});
    }
  }
  batch.kept = kept.size();
  if (!kept.empty()) {
    for (const Kind& kind : kinds_) {
      Result<Column> column = this->column(batch, kind, kept);
      if (!column) {
        batch.failure = std::move(column).error();
        break;
      }
      batch.columns.push_back(*std::move(column));
    }
    for (const PlacedField& field : placed) {
      Result<Tensor> column = close_ranks(batch.slots[field.array], kept);
      if (!column) {
        batch.failure = std::move(column).error();
        break;
      }
      const auto at = static_cast<std::ptrdiff_t>(std::min(field.at, batch.columns.size()));
      batch.columns.insert(batch.columns.begin() + at, {field.column, *std::move(column)});
    }
    const auto is_mask = [](const Column& column) { return column.name == kMask; };
    if (options_.mask && std::any_of(batch.columns.begin(), batch.columns.end(), is_mask)) {
      batch.failure =
          Error(Code::invalid_argument, "batch: mask=True adds a field '" + std::string(kMask) +
                                            "', but the samples have one of that name; rename it");
    } else if (options_.mask) {
      Result<Tensor> valid = Tensor::empty(DType::boolean, {std::int64_t(kept.size())});
      if (!valid) {
        batch.failure = std::move(valid).error();
      } else {
        for (std::size_t i = 0; i < kept.size(); ++i) {
          valid->data<bool>()[i] = kept[i] < batch.rows.valid;
        }
        batch.columns.push_back({kMask, *std::move(valid)});
      }
    }
  }
  batch.work.clear();
  batch.fetched.clear();
  batch.fetches.clear();
  batch.slots.clear();
  batch.room.reset();
}

}  // namespace penstock::data

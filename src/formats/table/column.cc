#include "formats/table/column.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace penstock::formats::table {
namespace {

bool bit_at(const std::byte* bits, std::uint64_t i) noexcept {
  return (std::to_integer<unsigned>(bits[i / 8]) >> (i % 8) & 1U) != 0;
}

// The letter that stands for a type of numbers.
char letter_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
      return 'b';
    case DType::int8:
      return 'c';
    case DType::uint8:
      return 'C';
    case DType::int16:
      return 's';
    case DType::uint16:
      return 'S';
    case DType::int32:
      return 'i';
    case DType::uint32:
      return 'I';
    case DType::int64:
      return 'l';
    case DType::uint64:
      return 'L';
    case DType::float16:
      return 'e';
    case DType::float32:
      return 'f';
    case DType::float64:
      return 'g';
    case DType::bfloat16:
      break;
  }
  return '?';
}

const std::byte* buffer(const ArrowArray& array, std::int64_t i) noexcept {
  return i < array.n_buffers ? static_cast<const std::byte*>(array.buffers[i]) : nullptr;
}

const std::byte* nulls_of(const ArrowArray& array) noexcept {
  return array.null_count == 0 ? nullptr : buffer(array, 0);
}

std::uint64_t at(std::int64_t value) noexcept {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

}  // namespace

std::size_t ColumnType::row_bytes() const noexcept {
  std::size_t all = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (extent >= 0) all *= static_cast<std::size_t>(extent);
  }
  return all;
}

Imported::Imported(ArrowSchema& schema, ArrowArray& array) noexcept
    : schema_(schema), array_(array) {
  schema.release = nullptr;
  array.release = nullptr;
}

Imported::~Imported() {
  if (array_.release != nullptr) array_.release(&array_);
  if (schema_.release != nullptr) schema_.release(&schema_);
}

Result<Column> Column::over(const ColumnType& type, const ArrowSchema& schema,
                            const ArrowArray& array, const ImportedPtr& owner) {
  const auto refuse = [&](std::string_view found) {
    return Error(Code::corrupt, "column '" + type.name + "' has another type here: " +
                                    std::string(found) + " in Arrow's words");
  };
  Column made;
  made.type_ = type;
  made.length_ = at(array.length);
  made.start_ = at(array.offset);
  made.nulls_ = nulls_of(array);
  const std::string_view format = schema.format;
  if (type.kind == Kind::text || type.kind == Kind::bytes) {
    const bool text = type.kind == Kind::text;
    made.item_ = 1;
    if (!text && format.starts_with("w:")) {
      made.fixed_ = std::strtoull(schema.format + 2, nullptr, 10);
      made.values_ = buffer(array, 1);
      made.limit_ = (made.start_ + made.length_) * made.fixed_;
    } else if (format == (text ? "u" : "z") || format == (text ? "U" : "Z")) {
      made.wide_ = format == (text ? "U" : "Z");
      made.offsets_ = buffer(array, 1);
      made.values_ = buffer(array, 2);
      if (made.offsets_ != nullptr) made.limit_ = made.offset_at(made.start_ + made.length_);
    } else {
      return refuse(format);
    }
    if (made.length_ > 0 && made.fixed_ == 0 && made.offsets_ == nullptr)
      return refuse("no offsets");
    if (made.values_ == nullptr) made.limit_ = 0;
    made.bytes_ = made.limit_ + made.length_ * 4;
    if (made.limit_ > 0) {
      made.memory_ = Buffer::wrap_read_only(made.values_, made.limit_, [owner] {});
    }
    return made;
  }
  const ArrowSchema* inner = &schema;
  const ArrowArray* numbers = &array;
  std::size_t next = 0;  // of the shape's extents
  if (type.kind == Kind::lists) {
    if ((format != "+l" && format != "+L") || array.n_children != 1) return refuse(format);
    made.wide_ = format == "+L";
    made.offsets_ = buffer(array, 1);
    if (made.offsets_ == nullptr && made.length_ > 0) return refuse("no offsets");
    inner = schema.children[0], numbers = array.children[0];
    made.limit_ = at(numbers->length);
    next = 1;
  }
  // Elements of a list begin where their own array begins; rows where this one does.
  std::uint64_t first = at(numbers->offset);
  for (; next < type.shape.size(); ++next) {
    const std::uint64_t extent = at(type.shape[next]);
    const std::string expected = "+w:" + std::to_string(extent);
    if (inner->format != expected || numbers->n_children != 1) return refuse(inner->format);
    for (Bits& bits : made.inner_nulls_) bits.numbers *= extent;
    if (numbers != &array && nulls_of(*numbers) != nullptr) {
      made.inner_nulls_.push_back({nulls_of(*numbers), first, extent});
    }
    made.per_row_ *= extent;
    inner = inner->children[0], numbers = numbers->children[0];
    first = first * extent + at(numbers->offset);
  }
  const char letter[] = {letter_of(type.dtype), '\0'};
  if (std::string_view(inner->format) != letter) return refuse(inner->format);
  if (numbers != &array && nulls_of(*numbers) != nullptr) {
    made.inner_nulls_.push_back({nulls_of(*numbers), first, 1});
  }
  made.item_ = size_of(type.dtype);
  made.bits_ = type.dtype == DType::boolean;
  made.values_ = buffer(*numbers, 1);
  made.values_start_ = first;
  const std::uint64_t count = at(numbers->length);
  const std::uint64_t needed =
      type.kind == Kind::lists ? made.limit_ * made.per_row_ : made.length_ * made.per_row_;
  if (count < needed || (needed > 0 && made.values_ == nullptr)) return refuse("too few values");
  made.bytes_ = count * made.item_ + (made.offsets_ != nullptr ? made.length_ * 4 : 0);
  return made;
}

bool Column::is_null(std::uint64_t row) const noexcept {
  return nulls_ != nullptr && !bit_at(nulls_, start_ + row);
}

// `first` counts numbers of this column.
bool Column::has_null(std::uint64_t first, std::uint64_t count) const noexcept {
  for (const Bits& bits : inner_nulls_) {
    if (count == 0 || bits.numbers == 0) continue;
    const std::uint64_t last = (first + count - 1) / bits.numbers;
    for (std::uint64_t i = first / bits.numbers; i <= last; ++i) {
      if (!bit_at(bits.bits, bits.start + i)) return true;
    }
  }
  return false;
}

Error Column::null_error() const {
  return Error(Code::invalid_argument,
               "column '" + type_.name + "' is null here; give a value for it, nulls={\"" +
                   type_.name + "\": 0}, or leave such rows out with filter=");
}

std::uint64_t Column::offset_at(std::uint64_t i) const noexcept {
  if (wide_) {
    std::int64_t offset;
    std::memcpy(&offset, offsets_ + i * sizeof(offset), sizeof(offset));
    return at(offset);
  }
  std::int32_t offset;
  std::memcpy(&offset, offsets_ + i * sizeof(offset), sizeof(offset));
  return at(offset);
}

void Column::copy_numbers(std::uint64_t first, std::uint64_t count, std::byte* to) const noexcept {
  if (bits_) {
    for (std::uint64_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::byte>(bit_at(values_, values_start_ + first + i));
    }
  } else if (count > 0) {
    std::memcpy(to, values_ + (values_start_ + first) * item_, count * item_);
  }
}

Status Column::read(std::uint64_t row, BufferPool& pool, Field& into) const {
  const bool raw = type_.kind == Kind::text || type_.kind == Kind::bytes;
  into.kind = type_.kind == Kind::text ? FieldKind::text : FieldKind::bytes;
  if (is_null(row)) {
    if (!raw) return null_error();
    into.kind = FieldKind::nothing;
    return {};
  }
  std::uint64_t first = row, end = row + 1;
  if (fixed_ > 0) {
    first = (start_ + row) * fixed_, end = first + fixed_;
  } else if (offsets_ != nullptr) {
    first = offset_at(start_ + row), end = offset_at(start_ + row + 1);
    if (first > end || end > limit_) {
      return Error(Code::corrupt, "column '" + type_.name + "' has damaged offsets");
    }
  }
  if (raw) {
    if (first == end) return {};
    into.bytes = memory_.bytes().subspan(first, end - first);
    into.memory = memory_;
    return {};
  }
  if (has_null(first * per_row_, (end - first) * per_row_)) return null_error();
  const std::uint64_t count = (end - first) * per_row_;
  if (count == 0) return {};
  Result<Buffer> own = pool.allocate(static_cast<std::size_t>(count) * item_);
  if (!own) return std::move(own).error();
  copy_numbers(first * per_row_, count, own->data());
  into.bytes = own->bytes().first(static_cast<std::size_t>(count) * item_);
  into.memory = *std::move(own);
  return {};
}

void Column::place(std::span<const Run> runs, std::byte* to, std::vector<Failure>& failures) const {
  const std::size_t bytes = item_ * static_cast<std::size_t>(per_row_);
  const bool nulls = nulls_ != nullptr || !inner_nulls_.empty();
  for (const Run& run : runs) {
    for (std::size_t k = 0; nulls && k < run.count; ++k) {
      const std::uint64_t row = run.row + k;
      if (!is_null(row) && !has_null(row * per_row_, per_row_)) continue;
      failures.push_back({run.index + k, null_error()});
    }
    copy_numbers(run.row * per_row_, run.count * per_row_, to + run.slot * bytes);
  }
}

}  // namespace penstock::formats::table

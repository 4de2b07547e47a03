// Columns in Arrow's memory, made by hand: offsets into them, nulls, bits, damage. Whole files are
// compared with pyarrow in tests/python/formats.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "formats/table/rows.h"

namespace penstock::formats::table {
namespace {

// A struct array of columns, and everything that it points to.
struct Made {
  std::vector<std::unique_ptr<Made>> children;
  std::vector<ArrowArray*> child_arrays;
  std::vector<ArrowSchema*> child_schemas;
  std::vector<const void*> buffers;
  ArrowArray array{};
  ArrowSchema schema{};

  Made(const char* format, std::int64_t length, std::vector<const void*> its_buffers,
       std::int64_t offset = 0, std::int64_t nulls = 0)
      : buffers(std::move(its_buffers)) {
    array.length = length, array.offset = offset, array.null_count = nulls;
    schema.format = format, schema.name = "";
  }
  Made& with(std::unique_ptr<Made> child) {
    children.push_back(std::move(child));
    return *this;
  }
  void finish() {
    for (const auto& child : children) {
      child->finish();
      child_arrays.push_back(&child->array), child_schemas.push_back(&child->schema);
    }
    array.n_buffers = static_cast<std::int64_t>(buffers.size()), array.buffers = buffers.data();
    array.n_children = schema.n_children = static_cast<std::int64_t>(children.size());
    array.children = child_arrays.data(), schema.children = child_schemas.data();
  }
};

std::unique_ptr<Made> made(const char* format, std::int64_t length,
                           std::vector<const void*> buffers, std::int64_t offset = 0,
                           std::int64_t nulls = 0) {
  return std::make_unique<Made>(format, length, std::move(buffers), offset, nulls);
}

template <class T>
std::vector<T> values_of(const Field& field) {
  std::vector<T> all(field.bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), field.bytes.data(), field.bytes.size());
  return all;
}

Field read(const Column& column, std::uint64_t row, BufferPool& pool) {
  Field field;
  const Status status = column.read(row, pool, field);
  EXPECT_TRUE(status.ok());
  return field;
}

TEST(Column, numbers_begin_at_the_offset_and_nulls_are_errors) {
  const std::array<std::int32_t, 5> values{9, 10, 11, 12, 13};
  const std::uint8_t valid = 0b01011;  // of places 0 to 4
  Made numbers("i", 3, {&valid, values.data()}, 1, -1);
  numbers.finish();
  const auto column =
      Column::over({"x", Kind::numbers, DType::int32, {}}, numbers.schema, numbers.array, {});
  ASSERT_TRUE(column.ok());
  BufferPool pool;
  EXPECT_EQ(values_of<std::int32_t>(read(*column, 0, pool)), std::vector{10});
  EXPECT_EQ(values_of<std::int32_t>(read(*column, 2, pool)), std::vector{12});
  Field field;
  EXPECT_EQ(column->read(1, pool, field).error().code(), Code::invalid_argument);
  std::array<std::int32_t, 3> to{};
  std::vector<Failure> failures;
  const std::array<table::Run, 2> runs{table::Run{0, 1, 7, 2}, table::Run{2, 0, 9, 1}};
  column->place(runs, reinterpret_cast<std::byte*>(to.data()), failures);
  EXPECT_EQ(to[0], 12);
  EXPECT_EQ(to[1], 10);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].index, 8U);
}

TEST(Column, lists_of_pairs_of_booleans_are_read_bit_by_bit) {
  const std::array<std::int32_t, 4> offsets{0, 1, 1, 3};
  const std::uint8_t bits = 0b01101100;  // from place 2 on: 1 1 0 1 1 0
  auto pairs = made("+w:2", 3, {nullptr});
  pairs->with(made("b", 6, {nullptr, &bits}, 2));
  Made lists("+l", 3, {nullptr, offsets.data()});
  lists.with(std::move(pairs)).finish();
  const auto column =
      Column::over({"x", Kind::lists, DType::boolean, {-1, 2}}, lists.schema, lists.array, {});
  ASSERT_TRUE(column.ok());
  BufferPool pool;
  EXPECT_EQ(values_of<std::uint8_t>(read(*column, 0, pool)), (std::vector<std::uint8_t>{1, 1}));
  EXPECT_TRUE(read(*column, 1, pool).bytes.empty());
  EXPECT_EQ(values_of<std::uint8_t>(read(*column, 2, pool)),
            (std::vector<std::uint8_t>{0, 1, 1, 0}));
}

TEST(Column, damaged_offsets_are_not_followed) {
  const std::array<std::int32_t, 4> offsets{0, 900, -5, 4};
  Made text("u", 3, {nullptr, offsets.data(), "abcd"});
  text.finish();
  const auto column =
      Column::over({"x", Kind::text, DType::uint8, {}}, text.schema, text.array, {});
  ASSERT_TRUE(column.ok());
  BufferPool pool;
  for (const std::uint64_t row : {0, 1}) {
    Field field;
    EXPECT_EQ(column->read(row, pool, field).error().code(), Code::corrupt);
  }
  EXPECT_EQ(read(*column, 2, pool).text(), "abcd");
}

TEST(Column, another_type_than_announced_is_refused) {
  const std::array<std::int64_t, 1> values{1};
  Made numbers("l", 1, {nullptr, values.data()});
  numbers.finish();
  for (const ColumnType& type : {ColumnType{"x", Kind::numbers, DType::int32, {}},
                                 ColumnType{"x", Kind::numbers, DType::int64, {2}},
                                 ColumnType{"x", Kind::lists, DType::int64, {-1}},
                                 ColumnType{"x", Kind::text, DType::uint8, {}}}) {
    EXPECT_FALSE(Column::over(type, numbers.schema, numbers.array, {}).ok());
  }
}

TEST(TableRows, a_damaged_group_is_tried_once_and_costs_its_rows) {
  int tries = 0;
  const std::array<std::int64_t, 3> values{5, 6, 7};
  Table table{{"a.parquet"}, {{"x", Kind::numbers, DType::int64, {}}}, {}, 1 << 20, 8, ""};
  table.groups = {{0, 0, 3, {0, 2}}, {0, 1, 3, {}}};
  auto rows = open_rows(table, [&](std::size_t group) -> Result<ImportedPtr> {
    ++tries;
    if (group == 1) return Error(Code::corrupt, "damaged");
    auto* whole = new Made("+s", 3, {nullptr});
    whole->with(made("l", 3, {nullptr, values.data()})).finish();
    whole->array.private_data = whole;
    whole->array.release = [](ArrowArray* self) { delete static_cast<Made*>(self->private_data); };
    return ImportedPtr(std::make_shared<Imported>(whole->schema, whole->array));
  });
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)->size(), 5U);
  BufferPool pool;
  Record record;
  ASSERT_TRUE((*rows)->read(1, pool, record).ok());
  EXPECT_EQ(values_of<std::int64_t>(record.fields[0]), std::vector<std::int64_t>{7});
  for (const std::uint64_t row : {2, 3, 4}) {
    const Status status = (*rows)->read(row, pool, record);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().to_string().find("row group 1"), std::string::npos);
    EXPECT_EQ(status.error().where().file, "a.parquet");
  }
  EXPECT_EQ(tries, 2);
  std::array<std::int64_t, 3> to{};
  std::vector<Failure> failures;
  const std::array<std::uint64_t, 3> indices{1, 4, 0};
  const std::array<std::uint32_t, 3> slots{0, 1, 2};
  const Placement placement{0, reinterpret_cast<std::byte*>(to.data())};
  (*rows)->read_placed(indices, slots, {&placement, 1}, pool, {}, failures);
  EXPECT_EQ(to, (std::array<std::int64_t, 3>{7, 0, 5}));
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].index, 1U);
}

}  // namespace
}  // namespace penstock::formats::table

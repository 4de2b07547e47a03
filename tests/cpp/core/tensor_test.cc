#include "penstock/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/dlpack.h"

namespace penstock {
namespace {

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().to_string());
  return std::move(result).value();
}

// Elements 0, 1, 2, ... in the given shape.
Tensor counting(const Dims& shape) {
  Tensor tensor = must(Tensor::empty(DType::int32, shape));
  std::iota(tensor.data<std::int32_t>(), tensor.data<std::int32_t>() + tensor.size(), 0);
  return tensor;
}

// The elements in order, read through the strides.
std::vector<int> elements(const Tensor& tensor) {
  if (tensor.rank() == 0) return {*tensor.data<std::int32_t>()};
  std::vector<int> all;
  for (std::int64_t i = 0; i < tensor.shape()[0]; ++i) {
    const std::vector<int> row = elements(must(tensor.row(i)));
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

std::string message_of(const Result<Tensor>& refused, Code code) {
  EXPECT_FALSE(refused.ok());
  if (refused.ok()) return "";
  EXPECT_EQ(refused.error().code(), code);
  return refused.error().message();
}

TEST(DType, names_and_sizes_agree_with_c) {
  EXPECT_EQ(size_of(dtype_of<bool>()), sizeof(bool));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>()), 8u);
  EXPECT_EQ(size_of(dtype_of<BFloat16>()), 2u);
  EXPECT_EQ(name_of(dtype_of<float>()), "float32");
  for (int i = 0; i <= static_cast<int>(DType::float64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(must(dtype_named(name_of(dtype))), dtype);
  }
  const auto refused = dtype_named("complex64");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("complex64"), std::string::npos);
}

TEST(Tensor, by_default_has_no_elements) {
  const Tensor tensor;
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_EQ(tensor.raw(), nullptr);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_EQ(must(tensor.clone()).size(), 0);
}

TEST(Tensor, empty_takes_memory_from_the_pool_and_gives_it_back) {
  BufferPool pool(1 << 20);
  {
    const Tensor tensor = must(Tensor::empty(pool, DType::float32, {256, 3, 5}));
    EXPECT_EQ(pool.stats().in_use, 256u * 3 * 5 * 4);
    EXPECT_EQ(tensor.size(), 256 * 3 * 5);
    EXPECT_EQ(tensor.nbytes(), 256u * 3 * 5 * 4);
    EXPECT_EQ(tensor.strides(), (Dims{15, 5, 1}));
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_NE(tensor.data<float>(), nullptr);
    EXPECT_EQ(tensor.data<double>(), nullptr);
  }
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(Tensor::empty(pool, DType::uint8, {2 << 20}).error().code(), Code::out_of_memory);
}

TEST(Tensor, empty_takes_memory_from_a_reservation) {
  BufferPool pool;
  auto reservation = pool.try_reserve(must(Tensor::bytes_for(DType::int16, {10, 10})));
  const Tensor tensor = must(Tensor::empty(*reservation, DType::int16, {10, 10}));
  EXPECT_EQ(reservation->left(), 0u);
}

TEST(Tensor, rank_zero_holds_one_element) {
  const Tensor tensor = must(Tensor::empty(DType::float64, {}));
  EXPECT_EQ(tensor.rank(), 0u);
  EXPECT_EQ(tensor.size(), 1);
  EXPECT_EQ(tensor.nbytes(), 8u);
  message_of(tensor.row(0), Code::invalid_argument);
}

TEST(Tensor, bad_shapes_are_refused_by_name) {
  constexpr std::int64_t huge = std::int64_t{1} << 32;
  const auto refused = [](const Dims& shape, Code code) {
    return message_of(Tensor::empty(DType::int64, shape), code);
  };
  EXPECT_NE(refused({2, -3}, Code::invalid_argument).find("shape[1]"), std::string::npos);
  EXPECT_NE(refused({1, 1, 1, 1, 1, 1, 1, 1, 1}, Code::invalid_argument).find("shape has 9"),
            std::string::npos);
  EXPECT_NE(refused({huge, huge}, Code::out_of_range).find("too many"), std::string::npos);
  EXPECT_NE(refused({huge, huge, 0}, Code::out_of_range).find("too many"), std::string::npos);
  EXPECT_NE(refused({huge, huge / 4}, Code::out_of_range).find("bytes"), std::string::npos);
}

TEST(Tensor, over_accepts_exactly_what_lies_in_the_buffer) {
  const Buffer buffer = must(Buffer::allocate(64));
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {4, 4}).ok());
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {3, 4}, 16).ok());
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {0, 4}, 64).ok());
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {1000}, {0}, 60).ok());  // broadcast
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {16}, {-1}, 60).ok());   // backwards
  EXPECT_TRUE(Tensor::over(buffer, DType::int32, {4, 4}, {1, 4}, 0).ok());

  constexpr std::int64_t far = std::int64_t{1} << 62;
  message_of(Tensor::over(buffer, DType::int32, {17}), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {3, 4}, 20), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {0}, 65), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {17}, {-1}, 60), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {16}, {-1}, 56), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {3, 3}, {far, far}, 0), Code::out_of_range);
  message_of(Tensor::over(buffer, DType::int32, {4}, {1, 1}, 0), Code::invalid_argument);
  const auto text = message_of(Tensor::over(buffer, DType::int32, {4}, 2), Code::invalid_argument);
  EXPECT_NE(text.find("offset 2 is not aligned"), std::string::npos);
  EXPECT_TRUE(Tensor::over(buffer, DType::uint8, {4}, 3).ok());
}

TEST(Tensor, a_row_is_a_view_that_keeps_the_memory_alive) {
  bool released = false;
  std::int32_t memory[6] = {0, 1, 2, 3, 4, 5};
  Tensor row;
  {
    const Tensor whole =
        must(Tensor::over(Buffer::wrap(memory, sizeof(memory), [&released] { released = true; }),
                          DType::int32, {2, 3}));
    row = must(whole.row(1));
    EXPECT_NE(message_of(whole.row(2), Code::out_of_range).find("row 2"), std::string::npos);
    message_of(whole.row(-1), Code::out_of_range);
  }
  EXPECT_FALSE(released);
  EXPECT_EQ(row.shape(), Dims{3});
  EXPECT_EQ(row.data<std::int32_t>(), memory + 3);
  row = Tensor();
  EXPECT_TRUE(released);
}

TEST(Tensor, a_slice_steps_through_one_dimension) {
  const Tensor tensor = counting({4, 5});
  const Tensor columns = must(tensor.slice(1, 1, 5, 2));
  EXPECT_EQ(columns.shape(), (Dims{4, 2}));
  EXPECT_EQ(elements(columns), (std::vector<int>{1, 3, 6, 8, 11, 13, 16, 18}));
  EXPECT_FALSE(columns.is_contiguous());
  const Tensor rows = must(tensor.slice(0, 2, 4));
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_EQ(elements(rows).front(), 10);
  EXPECT_EQ(must(tensor.slice(0, 4, 4)).size(), 0);
  EXPECT_EQ(must(tensor.slice(0, 0, 4, std::int64_t{1} << 62)).shape(), (Dims{1, 5}));

  EXPECT_NE(message_of(tensor.slice(2, 0, 1), Code::out_of_range).find("dimension 2"),
            std::string::npos);
  EXPECT_NE(message_of(tensor.slice(0, 0, 1, 0), Code::invalid_argument).find("step"),
            std::string::npos);
  message_of(tensor.slice(0, 0, 5), Code::out_of_range);
  message_of(tensor.slice(0, 3, 2), Code::out_of_range);
  message_of(tensor.slice(0, -1, 2), Code::out_of_range);
}

TEST(Tensor, reshape_keeps_the_elements_in_order) {
  const Tensor tensor = counting({2, 3, 4});
  for (const Dims& shape :
       {Dims{24}, Dims{4, 6}, Dims{1, 24, 1}, Dims{2, 1, 12}, Dims{-1, 8}, Dims{2, 2, 2, 3}}) {
    const Tensor other = must(tensor.reshape(shape));
    EXPECT_EQ(elements(other), elements(tensor)) << shape.to_string();
    EXPECT_EQ(other.raw(), tensor.raw());
  }
  EXPECT_EQ(must(tensor.reshape({-1, 8})).shape(), (Dims{3, 8}));
  EXPECT_NE(message_of(tensor.reshape({5, 5}), Code::invalid_argument).find("24 elements"),
            std::string::npos);
  message_of(tensor.reshape({-1, 7}), Code::invalid_argument);
  message_of(tensor.reshape({-1, -1}), Code::invalid_argument);
  message_of(tensor.reshape({-1, 0}), Code::invalid_argument);
  message_of(tensor.reshape({-2, -12}), Code::invalid_argument);
  EXPECT_EQ(must(must(tensor.slice(0, 0, 0)).reshape({5, 0})).shape(), (Dims{5, 0}));
  EXPECT_EQ(must(counting({1}).reshape({})).rank(), 0u);
}

TEST(Tensor, reshape_of_a_view_works_where_strides_allow_and_else_asks_for_a_copy) {
  const Tensor columns = must(counting({4, 6}).slice(1, 0, 4));  // strides (6, 1)
  EXPECT_EQ(elements(must(columns.reshape({2, 2, 2, 2}))), elements(columns));
  EXPECT_NE(message_of(columns.reshape({16}), Code::unsupported).find("clone()"),
            std::string::npos);
  const Tensor copy = must(columns.clone());
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(elements(must(copy.reshape({16}))), elements(columns));
}

TEST(Tensor, random_views_agree_with_their_copies) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Dims shape{0, 0, 0};
    for (std::size_t d = 0; d < 3; ++d) shape[d] = 1 + random() % 4;
    Tensor view = counting(shape);
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t start = random() % shape[d];
      const std::int64_t stop = start + 1 + random() % (shape[d] - start);
      view = must(view.slice(d, start, stop, 1 + random() % 3));
    }
    const Tensor copy = must(view.clone());
    ASSERT_EQ(elements(copy), elements(view));
    const std::int64_t divisor = 1 + random() % 4;
    if (view.size() % divisor != 0) continue;
    const auto reshaped = view.reshape({divisor, -1});
    if (reshaped.ok()) {
      ASSERT_EQ(elements(*reshaped), elements(copy));
    } else {
      ASSERT_FALSE(view.is_contiguous());
    }
  }
}

TEST(DLPack, hands_out_the_memory_and_keeps_it_until_the_deleter_runs) {
  bool released = false;
  static float memory[6];
  dlpack::Managed* old_form = nullptr;
  dlpack::ManagedVersioned* new_form = nullptr;
  {
    const Tensor tensor =
        must(Tensor::over(Buffer::wrap(memory, sizeof(memory), [&released] { released = true; }),
                          DType::float32, {2, 3}));
    const Tensor row = must(tensor.row(1));
    old_form = dlpack::to_dlpack(row);
    new_form = dlpack::to_dlpack_versioned(tensor, false);
  }
  EXPECT_EQ(old_form->array.data, memory + 3);
  EXPECT_EQ(old_form->array.ndim, 1);
  EXPECT_EQ(old_form->array.shape[0], 3);
  EXPECT_EQ(old_form->array.dtype.code, dlpack::kFloat);
  EXPECT_EQ(old_form->array.dtype.bits, 32);
  EXPECT_EQ(new_form->array.strides[0], 3);
  EXPECT_EQ(new_form->version.major, 1u);
  EXPECT_EQ(new_form->flags, 0u);
  old_form->deleter(old_form);
  EXPECT_FALSE(released);
  new_form->deleter(new_form);
  EXPECT_TRUE(released);
}

TEST(DLPack, says_when_memory_is_read_only) {
  static const std::uint8_t memory[4] = {};
  const Tensor tensor =
      must(Tensor::over(Buffer::wrap_read_only(memory, 4, nullptr), DType::uint8, {4}));
  EXPECT_TRUE(tensor.read_only());
  dlpack::ManagedVersioned* form = dlpack::to_dlpack_versioned(tensor, false);
  EXPECT_EQ(form->flags, dlpack::kReadOnly);
  form->deleter(form);
}

}  // namespace
}  // namespace penstock

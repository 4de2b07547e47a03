#include <gtest/gtest.h>

#include <cstring>

#include "data/steps.h"

namespace penstock::data {
namespace {

// A file of version 1; `elements` follow the header.
std::string npy(const std::string& header, const std::string& elements) {
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + elements;
}

Bytes bytes_of(const std::string& file) {
  Result<Buffer> memory = Buffer::allocate(file.size());
  std::memcpy(memory->data(), file.data(), file.size());
  return {memory->bytes(), *memory, {}};
}

TEST(Npy, is_read_as_numpy_writes_it) {
  std::string elements(24, '\0');
  for (int i = 0; i < 6; ++i) std::memcpy(elements.data() + 4 * i, &i, 4);
  const Result<Tensor> rows = parse_npy(
      bytes_of(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", elements)));
  ASSERT_TRUE(rows.ok()) << rows.error().to_string();
  EXPECT_EQ(rows->shape(), (Dims{2, 3}));
  EXPECT_EQ(rows->dtype(), DType::int32);
  EXPECT_EQ(rows->row(1)->data<std::int32_t>()[0], 3);
  const Result<Tensor> columns = parse_npy(
      bytes_of(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", elements)));
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(columns->strides(), (Dims{1, 2}));
  EXPECT_EQ(columns->row(1)->clone()->data<std::int32_t>()[1], 3);
  const Result<Tensor> one =
      parse_npy(bytes_of(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "a")));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->rank(), 0u);
}

TEST(Npy, what_is_damaged_or_dangerous_is_refused) {
  const auto code = [](const std::string& file) {
    const Result<Tensor> result = parse_npy(bytes_of(file));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::internal : result.error().code();
  };
  EXPECT_EQ(code("short"), Code::corrupt);
  EXPECT_EQ(code(npy("{}", "")), Code::corrupt);
  const std::string plain = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(code(npy(plain, "12345678901")), Code::corrupt);  // a byte is missing
  EXPECT_EQ(code(npy(plain, "").substr(0, 20)), Code::corrupt);
  EXPECT_EQ(code(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678")),
            Code::unsupported);
  EXPECT_EQ(code(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }", "1234")),
            Code::unsupported);
  EXPECT_EQ(code(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", "1234")),
            Code::unsupported);
  EXPECT_EQ(code(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (9999999999999999999,)}",
                     "1234")),
            Code::corrupt);
  EXPECT_EQ(code(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                     "1234")),
            Code::corrupt);
  EXPECT_EQ(code(npy("{'descr': '<i4', 'fortran_order': False, 'shape': 3}", "1234")),
            Code::corrupt);
}

}  // namespace
}  // namespace penstock::data

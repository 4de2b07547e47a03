// Indexes of HDF5 chunks in the small inputs of the fuzz corpus: a dataset of 100 x 4 numbers
// (0 to 399) in chunks of 10 x 2, its header at 0. Files of all versions that libhdf5 can open are
// compared with h5py in tests/python/formats.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "formats/chunked/hdf5/chunk_index.h"
#include "formats/chunked/hdf5/index_file.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kEndless = ~std::uint64_t(0);

struct Case {
  const char* name;
  std::uint64_t rows, columns;  // at most
  std::uint64_t bytes;          // of a chunk
};

Bytes bytes_of(const std::string& name) {
  std::ifstream stream("fuzz/corpus/hdf5_index/" + name, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(stream), {}};
  Bytes bytes(chars.size());
  std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

IndexRequest request_of(const Case& one) {
  return {0, 0, {100, 4}, {one.rows, one.columns}, {10, 2}};
}

class Hdf5Index : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    kinds, Hdf5Index,
    testing::Values(Case{"fixed", 100, 4, 80}, Case{"fixed_filtered", 100, 4, 84},
                    Case{"fixed_paged", 100, 4, 80}, Case{"finite", 200, 12, 80},
                    Case{"finite_filtered", 200, 12, 84}, Case{"implicit", 200, 12, 80},
                    Case{"first", kEndless, 4, 80}, Case{"first_filtered", kEndless, 4, 84},
                    Case{"first_paged", kEndless, 4, 80}, Case{"other", 150, kEndless, 80},
                    Case{"other_filtered", 150, kEndless, 84}, Case{"tree", kEndless, kEndless, 80},
                    Case{"tree_filtered", kEndless, kEndless, 84},
                    Case{"tree_inner", kEndless, kEndless, 80},
                    // Layouts of version 5, whose sizes of chunks take eight bytes.
                    Case{"newest_filtered", 100, 4, 84},
                    Case{"newest_first_filtered", kEndless, 4, 84},
                    Case{"newest_tree_filtered", kEndless, kEndless, 84}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

TEST_P(Hdf5Index, names_every_chunk) {
  const Bytes bytes = bytes_of(GetParam().name);
  const auto source = storage::source_over(bytes, "x.h5");
  const auto places = read_chunk_index(*source, request_of(GetParam()));
  ASSERT_TRUE(places.ok()) << places.error().message();
  ASSERT_TRUE(*places);
  std::uint64_t number = 0;
  for (const ChunkPlace& place : **places) {
    // A page of this one is not there.
    if (std::string(GetParam().name) == "fixed_paged" && number == 12) number = 16;
    EXPECT_EQ(place.number, number);
    EXPECT_EQ(place.size, GetParam().bytes);
    EXPECT_EQ(place.skipped, 0U);
    std::int32_t first = -1;
    std::memcpy(&first, bytes.data() + place.offset, sizeof(first));
    EXPECT_EQ(first, std::int32_t(number / 2 * 40 + number % 2 * 2));
    ++number;
  }
  EXPECT_EQ(number, 20U);
}

TEST_P(Hdf5Index, damage_is_an_error_or_does_not_matter) {
  const Bytes whole = bytes_of(GetParam().name);
  const auto sound = read_chunk_index(*storage::source_over(whole, "x.h5"), request_of(GetParam()));
  ASSERT_TRUE(sound.ok() && *sound);
  for (std::size_t at = 128; at < whole.size(); ++at) {  // behind the header, which has no checksum
    Bytes bytes = whole;
    bytes[at] ^= std::byte(1 << at % 8);
    const auto source = storage::source_over(bytes, "x.h5");
    const auto places = read_chunk_index(*source, request_of(GetParam()));
    if (!places) {
      EXPECT_EQ(places.error().code(), Code::corrupt);
      continue;
    }
    ASSERT_TRUE(*places);
    ASSERT_EQ((*places)->size(), (*sound)->size());
    for (std::size_t i = 0; i < (*places)->size(); ++i) {
      EXPECT_EQ((**places)[i].offset, (**sound)[i].offset) << at;
    }
  }
}

TEST_P(Hdf5Index, whatever_checksums_cannot_tell_is_checked) {
  const Bytes whole = bytes_of(GetParam().name);
  IndexRequest request = request_of(GetParam());
  request.checksums = false;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      Bytes bytes = whole;
      bytes[at] = std::byte(value);
      const auto places = read_chunk_index(*storage::source_over(bytes, "x.h5"), request);
      if (!places || !*places) continue;
      for (const ChunkPlace& place : **places) {
        ASSERT_LT(place.number, 20U);
        ASSERT_LE(place.offset, whole.size());
        ASSERT_LE(place.size, whole.size() - place.offset);
      }
    }
  }
}

TEST(Hdf5Index, addresses_are_relative_to_the_base) {
  const Bytes whole = bytes_of("fixed");
  Bytes bytes(512);
  bytes.insert(bytes.end(), whole.begin(), whole.end());
  IndexRequest request{0, 0, {100, 4}, {100, 4}, {10, 2}};
  const auto plain = read_chunk_index(*storage::source_over(whole, "x.h5"), request);
  request.base = 512;
  const auto moved = read_chunk_index(*storage::source_over(bytes, "x.h5"), request);
  ASSERT_TRUE(plain.ok() && moved.ok());
  ASSERT_EQ((*plain)->size(), (*moved)->size());
  for (std::size_t i = 0; i < (*plain)->size(); ++i) {
    EXPECT_EQ((**plain)[i].offset + 512, (**moved)[i].offset);
  }
  request.base = std::uint64_t(1) << 60;
  EXPECT_FALSE(read_chunk_index(*storage::source_over(bytes, "x.h5"), request).ok());
}

TEST(Hdf5Index, checksums_are_those_of_lookup3) {
  // From the author's own examples.
  const char* text = "Four score and seven years ago";
  EXPECT_EQ(checksum_of(std::as_bytes(std::span(text, 30))), 0x17770551U);
  EXPECT_EQ(checksum_of({}), 0xdeadbeefU);
}

}  // namespace
}  // namespace penstock::formats::hdf5

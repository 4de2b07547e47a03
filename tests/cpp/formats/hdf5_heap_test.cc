// The global heap of HDF5 files, made by hand byte by byte. Files that libhdf5 wrote are compared
// with h5py in tests/python/formats.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "formats/chunked/hdf5/global_heap.h"

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kAddress = 40;  // of the collection in the files here

void append(Bytes& bytes, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(std::byte(value >> 8 * i));
}

void append_object(Bytes& bytes, std::uint64_t number, std::string_view text) {
  append(bytes, number, 2);
  append(bytes, 1, 2);
  append(bytes, 0, 4);
  append(bytes, text.size(), 8);
  for (const char c : text) bytes.push_back(std::byte(c));
  append(bytes, 0, (8 - text.size() % 8) % 8);
}

// A file of zeros up to a collection of this size, which ends with free space.
Bytes file_with(std::vector<std::pair<std::uint64_t, std::string>> objects,
                std::uint64_t size = 4096) {
  Bytes bytes{std::size_t(kAddress)};
  for (const char c : {'G', 'C', 'O', 'L', '\1', '\0', '\0', '\0'}) bytes.push_back(std::byte(c));
  append(bytes, size, 8);
  for (const auto& [number, text] : objects) append_object(bytes, number, text);
  const std::uint64_t left = kAddress + size - bytes.size();
  if (left >= 16) {
    append(bytes, 0, 8);
    append(bytes, left, 8);
  }
  bytes.resize(std::size_t(kAddress + size));
  return bytes;
}

std::array<std::byte, kReferenceBytes> reference(std::uint64_t count, std::uint64_t address,
                                                 std::uint64_t number) {
  Bytes bytes;
  append(bytes, count, 4);
  append(bytes, address, 8);
  append(bytes, number, 4);
  std::array<std::byte, kReferenceBytes> made;
  std::memcpy(made.data(), bytes.data(), made.size());
  return made;
}

Result<std::string> text_at(const GlobalHeap& heap, std::uint64_t count, std::uint64_t number,
                            std::uint64_t item_bytes = 1, std::uint64_t address = kAddress) {
  Bytes into;
  Status status = heap.read(reference(count, address, number), item_bytes, into);
  if (!status) return std::move(status).error();
  return std::string(reinterpret_cast<const char*>(into.data()), into.size());
}

GlobalHeap over(const Bytes& bytes, std::uint64_t base = 0, std::uint64_t budget = 1 << 20) {
  return {storage::source_over(bytes, "x.h5"), base, budget};
}

std::string failure(const Bytes& bytes, std::uint64_t count, std::uint64_t number,
                    std::uint64_t address = kAddress) {
  const GlobalHeap heap = over(bytes);
  const Result<std::string> text = text_at(heap, count, number, 1, address);
  if (text) return "none";
  EXPECT_EQ(text.error().code(), Code::corrupt);
  EXPECT_EQ(text.error().where().file, "x.h5");
  EXPECT_GE(text.error().where().offset, 0);
  return text.error().message();
}

TEST(Hdf5Heap, objects_are_found_by_their_numbers_in_any_order) {
  const Bytes bytes = file_with({{7, "seven"}, {1, "one"}, {300, "three hundred"}, {2, ""}});
  for (const std::uint64_t budget : {0, 1 << 20}) {
    const GlobalHeap heap = over(bytes, 0, budget);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(*text_at(heap, 5, 7), "seven");
      EXPECT_EQ(*text_at(heap, 3, 1), "one");
      EXPECT_EQ(*text_at(heap, 13, 300), "three hundred");
    }
  }
}

TEST(Hdf5Heap, a_reference_that_counts_nothing_or_is_nowhere_is_empty) {
  const Bytes bytes = file_with({{1, "one"}});
  const GlobalHeap heap = over(bytes);
  EXPECT_EQ(*text_at(heap, 0, 9), "");
  EXPECT_EQ(*text_at(heap, 3, 1, 1, 0), "");
  EXPECT_EQ(*text_at(heap, 3, 1, 1, ~std::uint64_t(0)), "");
}

TEST(Hdf5Heap, items_have_a_size_and_addresses_a_base) {
  const Bytes bytes = file_with({{1, "12345678"}});
  const GlobalHeap heap = over(bytes, 16);
  EXPECT_EQ(*text_at(heap, 2, 1, 4, kAddress - 16), "12345678");
  EXPECT_FALSE(text_at(heap, 2, 1, 8, kAddress - 16).ok());
}

TEST(Hdf5Heap, a_large_collection_has_one_object_and_need_not_be_read_whole) {
  const std::string large(200'000, 'x');
  const Bytes bytes = file_with({{1, large}}, 200'048);
  const GlobalHeap heap = over(bytes);
  EXPECT_EQ(*text_at(heap, large.size(), 1), large);
  EXPECT_EQ(*text_at(heap, large.size(), 1), large);
}

TEST(Hdf5Heap, a_collection_may_be_full_to_its_last_byte) {
  EXPECT_EQ(*text_at(over(file_with({{1, "12345678"}}, 40)), 8, 1), "12345678");
  EXPECT_EQ(*text_at(over(file_with({{1, "12345678"}}, 48)), 8, 1), "12345678");  // no room to say
}

TEST(Hdf5Heap, damage_says_what_is_wrong) {
  const Bytes good = file_with({{1, "one"}, {2, "two"}});
  const auto with = [&](std::size_t at, int value) {
    Bytes bytes = good;
    bytes[std::size_t(kAddress) + at] = std::byte(value);
    return bytes;
  };
  EXPECT_NE(failure(good, 3, 3).find("there is no object 3"), std::string::npos);
  EXPECT_NE(failure(good, 4, 1).find("has 3 bytes, not 4 x 1"), std::string::npos);
  EXPECT_NE(failure(good, 3, 1, 48).find("no collection"), std::string::npos);
  EXPECT_NE(failure(good, 3, 1, 1 << 20).find("outside"), std::string::npos);
  EXPECT_NE(failure(good, 3, 1, ~std::uint64_t(0) - 8).find("outside"), std::string::npos);
  EXPECT_NE(failure(with(4, 2), 3, 1).find("no collection"), std::string::npos);
  EXPECT_NE(failure(with(9, 0x20), 3, 1).find("outside"), std::string::npos);
  EXPECT_NE(failure(with(15, 0xff), 3, 1).find("outside"), std::string::npos);
  EXPECT_NE(failure(with(9, 0x08), 3, 1).find("free space"), std::string::npos);
  EXPECT_NE(failure(with(16, 2), 3, 1).find("more than once"), std::string::npos);
  EXPECT_NE(failure(with(31, 0xff), 3, 1).find("beyond its collection"), std::string::npos);
  EXPECT_NE(failure(with(40, 0), 3, 1).find("free space"), std::string::npos);
}

TEST(Hdf5Heap, a_file_that_was_cut_anywhere_is_told) {
  const Bytes good = file_with({{1, "one"}});
  for (std::size_t size = 0; size < good.size(); size += 13) {
    const Bytes cut(good.begin(), good.begin() + std::ptrdiff_t(size));
    EXPECT_NE(failure(cut, 3, 1).find("outside"), std::string::npos) << size;
  }
}

}  // namespace
}  // namespace penstock::formats::hdf5

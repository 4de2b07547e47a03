// Arrays in chunks: codecs of our own, the cache of chunks. Values of whole formats are compared
// with other readers in tests/python/formats.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "formats/chunked/array.h"
#include "formats/chunked/cache.h"
#include "formats/chunked/expected.h"

namespace penstock::formats::chunked {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(std::byte(value));
  return bytes;
}

TEST(Codecs, unshuffle_puts_the_bytes_of_elements_together) {
  for (const std::size_t item : {1, 2, 3, 4, 8, 16}) {
    for (const std::size_t size : {0, 1, 7, 64, 128, 1000, 1027}) {
      Bytes plain(size), shuffled(size), got(size);
      for (std::size_t i = 0; i < size; ++i) plain[i] = std::byte(i * 7 + i / 256);
      const std::size_t count = size / item;
      shuffled = plain;
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < item; ++k) shuffled[k * count + i] = plain[i * item + k];
      }
      const Result<std::size_t> made = shuffle_codec(item)->decode(shuffled, got);
      ASSERT_TRUE(made.ok());
      EXPECT_EQ(*made, size);
      EXPECT_EQ(got, plain) << item << " " << size;
    }
  }
}

TEST(Codecs, lzf_copies_literals_and_what_came_before) {
  // Three bytes as they are; six from three back, which repeats; nine of the last one, which is
  // long.
  const Bytes packed = bytes_of({2, 10, 11, 12, 0x80, 2, 0xe0, 0, 0});
  Bytes got(64);
  const Result<std::size_t> made = lzf_codec()->decode(packed, got);
  ASSERT_TRUE(made.ok());
  ASSERT_EQ(*made, 18U);
  got.resize(*made);
  EXPECT_EQ(got,
            bytes_of({10, 11, 12, 10, 11, 12, 10, 11, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12}));
}

TEST(Codecs, damaged_lzf_is_an_error) {
  Bytes got(16);
  for (const Bytes& packed : {bytes_of({5, 1}), bytes_of({0x20, 0}), bytes_of({0, 1, 0x20}),
                              bytes_of({0, 1, 0xe0}), bytes_of({0, 1, 0xe0, 200, 0})}) {
    EXPECT_FALSE(lzf_codec()->decode(packed, got).ok());
  }
}

TEST(Arrays, sizes_that_cannot_be_are_refused) {
  const auto refused = [](Extents shape, Extents chunk) {
    Array array;
    array.element.bytes = 4;
    array.shape = std::move(shape);
    array.chunk = std::move(chunk);
    return !check(array).ok();
  };
  const std::uint64_t huge = std::uint64_t(1) << 62;
  EXPECT_FALSE(refused({huge, 2}, {8, 2}));
  EXPECT_TRUE(refused({huge + 1, 2}, {8, 2}));
  EXPECT_TRUE(refused({8, huge}, {8, 2}));
  EXPECT_TRUE(refused({8, 2}, {huge, 2}));
  EXPECT_TRUE(refused({huge, 1000}, {1, 1}));
  EXPECT_TRUE(refused({8, 1 << 24}, {8, 2}));
  EXPECT_TRUE(refused({8}, {8, 2}));
  EXPECT_TRUE(refused({8, 2}, {8, 0}));
  EXPECT_TRUE(refused({}, {}));
}

Result<Chunk> numbered(std::uint64_t chunk) {
  Result<Buffer> made = Buffer::allocate(1000);
  std::memcpy(made->data(), &chunk, sizeof(chunk));
  return made;
}

TEST(ChunkCache, threads_that_want_the_same_chunks_unpack_each_once) {
  std::atomic<int> loads = 0;
  const ChunkCache cache(1 << 20, {100}, [&](std::size_t, std::uint64_t chunk) {
    ++loads;
    std::this_thread::yield();
    return numbered(chunk);
  });
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        const Result<Chunk> chunk = cache.get(0, i);
        std::uint64_t number = 0;
        if (chunk.ok()) std::memcpy(&number, chunk->data(), sizeof(number));
        EXPECT_EQ(number, i);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(loads, 100);
  EXPECT_EQ(cache.loaded(), 100U);
}

TEST(ChunkCache, the_chunks_used_longest_ago_go_first) {
  const ChunkCache cache(3 * 1300, {100}, [](std::size_t, std::uint64_t n) { return numbered(n); });
  for (const std::uint64_t i : {7, 30, 50}) ASSERT_TRUE(cache.get(0, i).ok());
  ASSERT_TRUE(cache.get(0, 7).ok());
  ASSERT_TRUE(cache.get(0, 70).ok());
  EXPECT_EQ(cache.loaded(), 4U);
  EXPECT_LE(cache.used(), cache.budget());
  ASSERT_TRUE(cache.get(0, 7).ok());
  EXPECT_EQ(cache.loaded(), 4U);
  ASSERT_TRUE(cache.get(0, 30).ok());
  EXPECT_EQ(cache.loaded(), 5U);
}

TEST(ChunkCache, a_failure_is_not_kept) {
  bool fail = true;
  const ChunkCache cache(1 << 20, {3}, [&](std::size_t, std::uint64_t n) -> Result<Chunk> {
    if (fail) return Error(Code::io, "not now");
    return numbered(n);
  });
  EXPECT_FALSE(cache.get(0, 1).ok());
  fail = false;
  EXPECT_TRUE(cache.get(0, 1).ok());
}

std::uint64_t number_in(const Buffer& memory) {
  std::uint64_t number = 0;
  if (memory) std::memcpy(&number, memory.data(), sizeof(number));
  return number;
}

TEST(ExpectedRows, a_chunk_leaves_the_rows_that_are_expected_of_it_once) {
  BufferPool pool;
  ExpectedRows rows(10'000, {{8, 4}});
  rows.expect(std::vector<std::uint64_t>{5, 2, 7});
  std::uint64_t numbers[] = {4, 5, 6, 7};
  const Buffer chunk = Buffer::wrap(numbers, sizeof(numbers), [] {});
  std::vector<Buffer> got(4);
  rows.keep(0, 1, chunk, pool);
  rows.take(std::vector<std::uint64_t>{7, 6, 5, 2}, got);
  EXPECT_EQ(number_in(got[0]), 7U);
  EXPECT_FALSE(got[1]);  // nobody expected it
  EXPECT_EQ(number_in(got[2]), 5U);
  EXPECT_FALSE(got[3]);  // its chunk was not unpacked
  EXPECT_EQ(rows.used(), 0U);
  rows.keep(0, 1, chunk, pool);
  EXPECT_EQ(rows.used(), 0U);
}

TEST(ExpectedRows, what_is_kept_stays_below_the_budget_and_the_oldest_are_forgotten) {
  BufferPool pool;
  ExpectedRows rows(4 * 1200, {{1024, 100}});
  EXPECT_EQ(rows.capacity(), 4U);
  std::vector<std::uint64_t> wanted(50);
  std::iota(wanted.begin(), wanted.end(), std::uint64_t(0));
  rows.expect(wanted);
  const Buffer chunk = *pool.allocate(100 * 1024);
  rows.keep(0, 0, chunk, pool);
  EXPECT_LE(rows.used(), 4U * 1200U);
  EXPECT_GT(rows.used(), 3U * 1024U);
  std::vector<Buffer> got(50);
  rows.take(wanted, got);
  EXPECT_EQ(std::count_if(got.begin(), got.end(), [](const Buffer& one) { return bool(one); }), 4);
  EXPECT_TRUE(
      std::none_of(got.begin(), got.begin() + 40, [](const Buffer& one) { return bool(one); }));
  EXPECT_EQ(rows.used(), 0U);
}

}  // namespace
}  // namespace penstock::formats::chunked

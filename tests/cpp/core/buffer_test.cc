#include "penstock/buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

namespace penstock {
namespace {

bool is_aligned(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data()) % kBufferAlignment == 0;
}

TEST(Buffer, an_empty_handle_holds_nothing) {
  const Buffer buffer;
  EXPECT_FALSE(buffer);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_TRUE(buffer.bytes().empty());
  buffer.give_to_user();  // nothing to give: nothing happens
}

TEST(Buffer, memory_of_its_own_is_aligned_and_writable) {
  for (const std::size_t size : {0, 1, 63, 64, 65, 4097, 5 << 20}) {
    auto buffer = Buffer::allocate(size);
    ASSERT_TRUE(buffer.ok());
    EXPECT_TRUE(*buffer);
    EXPECT_TRUE(is_aligned(*buffer));
    EXPECT_EQ(buffer->size(), size);
    EXPECT_FALSE(buffer->read_only());
    std::memset(buffer->data(), 7, size);
  }
}

TEST(Buffer, large_memory_goes_back_to_the_system) {
  const auto pages_mapped = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  const auto touch = [] {
    auto buffer = Buffer::allocate((std::size_t{64} << 20) + 100);
    ASSERT_TRUE(buffer.ok());
    buffer->data()[64 << 20] = std::byte{1};
  };
  touch();
  const std::size_t before = pages_mapped();
  for (int i = 0; i < 10; ++i) touch();
  EXPECT_LT(pages_mapped(), before + (64 << 20) / 4096);
}

TEST(Buffer, an_absurd_size_is_an_error_and_not_a_crash) {
  auto buffer = Buffer::allocate(std::size_t{1} << 60);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code(), Code::out_of_memory);
}

TEST(Buffer, copies_share_memory_and_the_last_one_releases_it_once) {
  int released = 0;
  int memory = 5;
  {
    Buffer outer;
    {
      Buffer first = Buffer::wrap(&memory, sizeof(memory), [&released] { ++released; });
      EXPECT_TRUE(first.unique());
      Buffer second = first;
      EXPECT_FALSE(first.unique());
      EXPECT_EQ(static_cast<void*>(second.data()), &memory);
      outer = std::move(second);
      EXPECT_FALSE(second);  // NOLINT: a moved-from handle is empty
      outer = outer;         // NOLINT: self-assignment keeps it
    }
    EXPECT_EQ(released, 0);
    EXPECT_TRUE(outer.unique());
  }
  EXPECT_EQ(released, 1);
}

TEST(Buffer, foreign_memory_can_be_read_only) {
  const char text[] = "text";
  const Buffer buffer = Buffer::wrap_read_only(text, 4, nullptr);
  EXPECT_TRUE(buffer.read_only());
  EXPECT_EQ(std::memcmp(buffer.data(), "text", 4), 0);
}

TEST(Buffer, handles_copied_and_dropped_by_many_threads_release_once) {
  std::atomic<int> released{0};
  int memory = 0;
  {
    const Buffer shared = Buffer::wrap(&memory, sizeof(memory), [&released] { ++released; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&shared] {
        for (int i = 0; i < 10'000; ++i) {
          Buffer copy = shared;
          const Buffer again = copy;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace penstock

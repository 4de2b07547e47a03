#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "core/size_class.h"
#include "penstock/buffer.h"

namespace penstock {
namespace {

constexpr std::size_t kB = 1024;

// Counts what is outstanding, and can be told to have no memory.
class CountingSource final : public MemorySource {
 public:
  void* allocate(std::size_t size) noexcept override {
    if (live_ + size > limit) return nullptr;
    live_ += size;
    return std::aligned_alloc(kBufferAlignment, size);
  }
  void free(void* memory, std::size_t size) noexcept override {
    live_ -= size;
    std::free(memory);
  }
  std::size_t live() const { return live_; }
  std::size_t limit = std::size_t{1} << 40;

 private:
  std::size_t live_ = 0;
};

Buffer must(Result<Buffer> buffer) {
  EXPECT_TRUE(buffer.ok()) << buffer.error().to_string();
  return std::move(buffer).value();
}

TEST(SizeClass, rounding_wastes_at_most_an_eighth_or_63_bytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::size_t size = (random() >> (18 + random() % 46)) % detail::kLargestBlock + 1;
    const std::size_t size_class = detail::size_class_of(size);
    const std::size_t rounded = detail::size_of_class(size_class);
    ASSERT_GE(rounded, size);
    ASSERT_LE(rounded - size, std::max<std::size_t>(63, size / 8)) << size;
    ASSERT_EQ(detail::size_class_of(rounded), size_class);
    ASSERT_EQ(detail::size_class_of(rounded + 1), size_class + 1);
  }
}

TEST(BufferPool, gives_aligned_memory_of_the_size_asked_for) {
  BufferPool pool;
  for (const std::size_t size : {0, 1, 64, 1000, 123457, 6 << 20}) {
    const Buffer buffer = must(pool.allocate(size));
    EXPECT_EQ(buffer.size(), size);
    ASSERT_NE(buffer.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kBufferAlignment, 0u);
    std::memset(buffer.data(), 1, size);
  }
}

TEST(BufferPool, over_budget_is_an_error_that_names_the_sizes) {
  BufferPool pool(100 * kB);
  const Buffer held = must(pool.allocate(60 * kB));
  auto refused = pool.allocate(50 * kB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  EXPECT_NE(refused.error().message().find("51200"), std::string::npos);
  EXPECT_NE(refused.error().message().find("102400"), std::string::npos);
  EXPECT_TRUE(pool.allocate(40 * kB).ok());  // exactly what is left
}

TEST(BufferPool, a_plain_allocation_above_the_budget_is_refused_even_when_alone) {
  BufferPool pool(kB);
  EXPECT_FALSE(pool.allocate(kB + 1).ok());
  EXPECT_FALSE(pool.allocate(BufferPool::unlimited).ok());
  BufferPool unlimited;
  EXPECT_FALSE(unlimited.allocate(BufferPool::unlimited).ok());
  EXPECT_EQ(unlimited.stats().in_use, 0u);
}

TEST(BufferPool, freed_memory_is_used_again) {
  BufferPool pool;
  const std::byte* address = must(pool.allocate(300 * kB)).data();
  EXPECT_EQ(pool.stats().cached, 320 * kB);
  const Buffer again = must(pool.allocate(299 * kB));  // the same size class
  EXPECT_EQ(again.data(), address);
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.fresh, 1u);
  EXPECT_EQ(stats.recycled, 1u);
  EXPECT_EQ(stats.in_use, 299 * kB);
  EXPECT_EQ(stats.cached, 0u);
  EXPECT_EQ(stats.peak, 300 * kB);
  EXPECT_EQ(stats.footprint, 320 * kB);
}

TEST(BufferPool, trim_gives_cached_memory_back) {
  auto source = std::make_shared<CountingSource>();
  BufferPool pool(BufferPool::unlimited, source);
  const Buffer live = must(pool.allocate(kB));
  (void)must(pool.allocate(64 * kB));
  EXPECT_EQ(source->live(), 65 * kB);
  pool.trim();
  EXPECT_EQ(source->live(), kB);
  EXPECT_EQ(pool.stats().cached, 0u);
  EXPECT_EQ(pool.stats().footprint, kB);
}

TEST(BufferPool, cached_memory_makes_way_for_other_sizes_within_the_budget) {
  auto source = std::make_shared<CountingSource>();
  BufferPool pool(100 * kB, source);
  std::mt19937 random(3);
  std::vector<Buffer> live;
  for (int i = 0; i < 5000; ++i) {
    if (!live.empty() && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      live.pop_back();
    } else {
      auto buffer = pool.allocate(random() % (30 * kB));
      if (buffer.ok()) live.push_back(std::move(*buffer));
    }
    const PoolStats stats = pool.stats();
    ASSERT_LE(stats.in_use, stats.budget);
    ASSERT_EQ(stats.footprint, source->live());
    ASSERT_LE(stats.footprint, stats.budget + stats.budget / 8 + 64 * live.size());
  }
  live.clear();
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_GT(pool.stats().recycled, 0u);
}

TEST(BufferPool, what_an_unlimited_pool_keeps_is_bounded_by_what_was_once_live) {
  BufferPool pool;
  for (std::size_t size = kB; size < 256 * 1024 * kB; size = size * 9 / 8) {
    (void)must(pool.allocate(size));
  }
  EXPECT_LE(pool.stats().cached, 2 * 288 * 1024 * kB);
}

TEST(BufferPool, memory_unused_for_longest_makes_way_for_what_is_used_now) {
  BufferPool pool(16 * kB);
  (void)must(pool.allocate(8 * kB));
  (void)must(pool.allocate(7 * kB));
  (void)must(pool.allocate(6 * kB));  // the 8 make way, the 7 may stay
  EXPECT_EQ(pool.stats().fresh, 3u);
  EXPECT_EQ(pool.stats().cached, 13 * kB);
  (void)must(pool.allocate(7 * kB));
  EXPECT_EQ(pool.stats().recycled, 1u);
  EXPECT_EQ(pool.stats().fresh, 3u);
}

TEST(BufferPool, batches_that_come_back_from_the_user_are_recycled) {
  // A loop over batches under a budget of two: one in the user's hands, two being made.
  constexpr std::size_t batch = 1000 * kB;
  BufferPool pool(2 * batch);
  Buffer in_users_hands;
  std::vector<Buffer> made;
  for (int i = 0; i < 100; ++i) {
    while (auto reservation = pool.try_reserve(batch)) {
      made.push_back(must(reservation->allocate(batch)));
    }
    Buffer next = std::move(made.front());
    made.erase(made.begin());
    next.give_to_user();
    in_users_hands = std::move(next);
  }
  const PoolStats stats = pool.stats();
  EXPECT_LE(stats.fresh, 4u);
  EXPECT_EQ(stats.fresh + stats.recycled, 101u);
  EXPECT_EQ(stats.held_by_user, batch);
}

// Keeps the calling thread on one core for as long as it lives.
class OnCore {
 public:
  explicit OnCore(int core) {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    there = ::sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  ~OnCore() { ::sched_setaffinity(0, sizeof(before_), &before_); }
  bool there = false;

 private:
  cpu_set_t before_;
};

TEST(BufferPool, memory_goes_to_the_core_that_wrote_it_last) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(usable), &usable), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(core, &usable)) cores.push_back(core);
  }
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  BufferPool pool;
  std::vector<Buffer> both;
  for (const std::size_t i : {0, 1}) {
    const OnCore pinned(cores[i]);
    ASSERT_TRUE(pinned.there);
    both.push_back(must(pool.allocate(kB)));
  }
  const std::byte* const memory[] = {both[0].data(), both[1].data()};
  both.clear();  // whoever gives it back
  for (const std::size_t i : {0, 1}) {
    const OnCore pinned(cores[i]);
    EXPECT_EQ(must(pool.allocate(kB)).data(), memory[i]);
  }
  const OnCore pinned(cores[0]);
  const Buffer own = must(pool.allocate(kB)), other = must(pool.allocate(kB));
  EXPECT_EQ(other.data(), memory[1]) << "better than new memory";
  EXPECT_EQ(pool.stats().fresh, 2u);
}

TEST(BufferPool, bytes_given_to_the_user_leave_the_budget_until_the_last_handle_is_gone) {
  BufferPool pool(10 * kB);
  Buffer buffer = must(pool.allocate(10 * kB));
  EXPECT_FALSE(pool.allocate(1).ok());
  buffer.give_to_user();
  buffer.give_to_user();  // twice is once
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(pool.stats().held_by_user, 10 * kB);
  EXPECT_TRUE(pool.allocate(10 * kB).ok());
  Buffer view = buffer;
  buffer = Buffer();
  EXPECT_EQ(pool.stats().held_by_user, 10 * kB);
  view = Buffer();
  EXPECT_EQ(pool.stats().held_by_user, 0u);
  EXPECT_EQ(pool.stats().in_use, 0u);
}

TEST(BufferPool, many_are_given_to_the_user_at_once_and_room_is_told_once) {
  BufferPool pool(1000), other(1000);
  std::vector<Buffer> many;
  for (int i = 0; i < 3; ++i) many.push_back(*pool.allocate(100));
  many.push_back(many[0]);                // the same memory again
  many.push_back(Buffer());               // none
  many.push_back(*Buffer::allocate(10));  // of no pool
  many.push_back(*other.allocate(50));
  int told = 0, others_told = 0;
  const RoomListener listener = pool.on_room([&] { ++told; });
  const RoomListener others = other.on_room([&] { ++others_told; });
  Buffer::give_to_user(many);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(others_told, 1);
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(pool.stats().held_by_user, 300u);
  EXPECT_EQ(other.stats().held_by_user, 50u);
  Buffer::give_to_user(many);  // nothing new
  EXPECT_EQ(told, 1);
  many.clear();
  EXPECT_EQ(pool.stats().held_by_user, 0u);
  EXPECT_EQ(other.stats().held_by_user, 0u);
}

TEST(BufferPool, buffers_and_reservations_outlive_the_pool) {
  auto source = std::make_shared<CountingSource>();
  auto pool = std::make_unique<BufferPool>(100 * kB, source);
  (void)must(pool->allocate(32 * kB));  // cached
  Buffer buffer = must(pool->allocate(kB));
  auto reservation = pool->try_reserve(8 * kB);
  pool.reset();
  EXPECT_EQ(source->live(), kB);  // the cache went with the pool
  std::memset(buffer.data(), 1, buffer.size());
  Buffer late = must(reservation->allocate(8 * kB));
  reservation.reset();
  std::memset(late.data(), 1, late.size());
  buffer = Buffer();
  late = Buffer();
  EXPECT_EQ(source->live(), 0u);
  EXPECT_EQ(source.use_count(), 1);  // and the shared state is gone too
}

TEST(BufferPool, a_system_without_memory_is_an_error_and_charges_nothing) {
  auto source = std::make_shared<CountingSource>();
  BufferPool pool(BufferPool::unlimited, source);
  (void)must(pool.allocate(64 * kB));  // cached: given up when the system has no more
  source->limit = 100 * kB;
  EXPECT_TRUE(pool.allocate(100 * kB - 4096).ok());
  auto refused = pool.allocate(200 * kB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  auto reservation = pool.try_reserve(200 * kB);
  ASSERT_TRUE(reservation);
  EXPECT_FALSE(reservation->allocate(200 * kB).ok());
  EXPECT_EQ(reservation->left(), 200 * kB);
  reservation.reset();
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(pool.stats().reserved, 0u);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(BufferPoolDeathTest, address_sanitizer_sees_into_the_pool) {
  BufferPool pool;
  Buffer buffer = must(pool.allocate(100));
  volatile std::byte* data = buffer.data();
  EXPECT_DEATH(data[100] = std::byte{1}, "use-after-poison");
  buffer = Buffer();
  EXPECT_DEATH(data[0] = std::byte{1}, "use-after-poison");
}
#endif

}  // namespace
}  // namespace penstock

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "penstock/buffer.h"

namespace penstock {
namespace {

TEST(Reservation, is_granted_while_it_fits) {
  BufferPool pool(100);
  auto first = pool.try_reserve(60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool.try_reserve(41));
  EXPECT_TRUE(pool.try_reserve(40));
  EXPECT_FALSE(pool.allocate(41).ok());  // reserved bytes are spoken for
  EXPECT_EQ(pool.stats().reserved, 60u);
  EXPECT_EQ(pool.stats().over_budget, 0u);
}

TEST(Reservation, buffers_from_it_charge_nothing_more) {
  BufferPool pool(100);
  auto reservation = pool.try_reserve(100);
  auto first = reservation->allocate(70);
  auto second = reservation->allocate(30);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(pool.stats().in_use, 100u);
  EXPECT_EQ(pool.stats().reserved, 0u);
  EXPECT_EQ(pool.stats().peak, 100u);
  EXPECT_EQ(reservation->left(), 0u);
}

TEST(Reservation, asking_for_more_than_is_left_is_an_error) {
  BufferPool pool(1000);
  auto reservation = pool.try_reserve(100);
  auto refused = reservation->allocate(101);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::out_of_memory);
  EXPECT_NE(refused.error().message().find("100 bytes left"), std::string::npos);
  reservation->release();
  EXPECT_EQ(reservation->left(), 0u);
  EXPECT_EQ(reservation->allocate(1).error().code(), Code::closed);
}

TEST(Reservation, unspent_bytes_return_when_it_dies_and_spent_ones_with_their_buffer) {
  BufferPool pool(100);
  Buffer buffer;
  {
    auto reservation = pool.try_reserve(100);
    buffer = std::move(reservation->allocate(30)).value();
  }
  EXPECT_EQ(pool.stats().reserved, 0u);
  EXPECT_EQ(pool.stats().in_use, 30u);
  buffer = Buffer();
  EXPECT_EQ(pool.stats().in_use, 0u);
}

TEST(Reservation, a_buffer_freed_while_it_lives_returns_its_bytes_to_it) {
  BufferPool pool(100);
  auto reservation = pool.try_reserve(80);
  for (int row = 0; row < 10; ++row) {
    auto scratch = reservation->allocate(50);  // fits again and again
    ASSERT_TRUE(scratch.ok());
    EXPECT_EQ(reservation->left(), 30u);
  }
  EXPECT_EQ(reservation->left(), 80u);
  EXPECT_EQ(pool.stats().reserved, 80u);
  EXPECT_FALSE(pool.try_reserve(21));
}

TEST(Reservation, bytes_given_to_the_user_do_not_return_to_it) {
  BufferPool pool(100);
  auto reservation = pool.try_reserve(100);
  {
    auto batch = std::move(reservation->allocate(60)).value();
    batch.give_to_user();
    EXPECT_EQ(pool.stats().reserved, 40u);
    EXPECT_TRUE(pool.try_reserve(60));
  }
  EXPECT_EQ(reservation->left(), 40u);
}

TEST(Reservation, alone_it_is_granted_above_the_budget_and_counted) {
  BufferPool pool(100);
  {
    auto large = pool.try_reserve(500);
    ASSERT_TRUE(large);
    EXPECT_EQ(pool.stats().over_budget, 1u);
    EXPECT_TRUE(large->allocate(500).ok());
    EXPECT_FALSE(pool.try_reserve(1));
    EXPECT_FALSE(pool.allocate(0).ok());
  }
  auto small = pool.try_reserve(1);
  EXPECT_FALSE(pool.try_reserve(500));  // not alone
  small.reset();
  auto in_use = std::move(pool.allocate(1)).value();
  EXPECT_FALSE(pool.try_reserve(500));
  in_use.give_to_user();  // what the user holds does not stand in the way
  EXPECT_TRUE(pool.try_reserve(500));
  EXPECT_EQ(pool.stats().over_budget, 2u);
}

TEST(Reservation, an_absurd_one_is_granted_and_its_allocation_is_the_error) {
  // A refusal would read as "wait": nobody would ever say what is wrong.
  BufferPool pool(100);
  auto absurd = pool.try_reserve(BufferPool::unlimited);
  ASSERT_TRUE(absurd);
  EXPECT_EQ(absurd->allocate(BufferPool::unlimited).error().code(), Code::out_of_memory);
  EXPECT_FALSE(pool.try_reserve(1));
  absurd.reset();
  EXPECT_EQ(pool.stats().reserved, 0u);
  EXPECT_EQ(pool.stats().in_use, 0u);
  EXPECT_EQ(pool.stats().footprint, 0u);
}

TEST(Reservation, moves_without_returning_its_bytes) {
  BufferPool pool(100);
  Reservation first = std::move(*pool.try_reserve(10));
  Reservation second = std::move(*pool.try_reserve(20));
  EXPECT_EQ(pool.stats().reserved, 30u);
  first = std::move(second);  // the 10 go back
  EXPECT_EQ(pool.stats().reserved, 20u);
  EXPECT_EQ(first.left(), 20u);
}

TEST(RoomListener, is_called_when_bytes_come_back_to_the_budget) {
  BufferPool pool(100);
  int calls = 0;
  auto listener = pool.on_room([&calls] { ++calls; });

  auto buffer = std::move(pool.allocate(10)).value();
  EXPECT_EQ(calls, 0);
  buffer = Buffer();
  EXPECT_EQ(calls, 1);

  auto reservation = pool.try_reserve(100);
  (void)reservation->allocate(50);
  EXPECT_EQ(calls, 1);  // back to the reservation, not to the budget
  buffer = std::move(reservation->allocate(50)).value();
  buffer.give_to_user();
  EXPECT_EQ(calls, 2);
  reservation.reset();
  EXPECT_EQ(calls, 3);
  buffer = Buffer();
  EXPECT_EQ(calls, 3);  // it had left the budget before
}

TEST(RoomListener, may_use_the_pool_and_may_end_itself) {
  BufferPool pool(100);
  std::optional<Reservation> admitted;
  RoomListener listener;
  int calls = 0;
  listener = pool.on_room([&] {
    ++calls;
    admitted = pool.try_reserve(100);
    listener = RoomListener();
  });
  auto first = pool.try_reserve(100);
  first.reset();
  EXPECT_TRUE(admitted);
  admitted.reset();
  EXPECT_EQ(calls, 1);
}

TEST(RoomListener, is_not_called_after_it_is_gone) {
  BufferPool pool;
  int first = 0;
  int second = 0;
  auto keep = pool.on_room([&first] { ++first; });
  {
    auto listener = pool.on_room([&second] { ++second; });
    (void)pool.allocate(1);
  }
  (void)pool.allocate(1);
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 1);
}

TEST(RoomListener, outlives_the_pool) {
  auto pool = std::make_unique<BufferPool>();
  int calls = 0;
  auto buffer = std::move(pool->allocate(1)).value();
  auto listener = pool->on_room([&calls] { ++calls; });
  pool.reset();
  buffer = Buffer();
  EXPECT_EQ(calls, 1);
}

TEST(RoomListener, its_end_waits_until_a_call_in_another_thread_returns) {
  BufferPool pool;
  std::atomic<bool> inside{false};
  std::atomic<bool> finished{false};
  auto listener = pool.on_room([&] {
    inside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    finished = true;
  });
  std::thread other([&pool] { (void)pool.allocate(1); });
  while (!inside) std::this_thread::yield();
  listener = RoomListener();
  EXPECT_TRUE(finished);
  other.join();
}

TEST(RoomListener, may_end_at_any_moment) {
  for (int round = 0; round < 200; ++round) {
    BufferPool pool;
    std::atomic<bool> stop{false};
    std::atomic<int> calls{0}, allocated{0};
    std::thread other([&] {
      for (; !stop; ++allocated) (void)pool.allocate(1);
    });
    {
      auto alive = std::make_unique<std::atomic<int>>(0);
      auto listener = pool.on_room([&] { alive->fetch_add(1), ++calls; });
      while (*alive == 0) std::this_thread::yield();
      listener = RoomListener();
    }  // *alive is gone: a late call would be a use after free
    const int then = calls, since = allocated;
    while (allocated < since + 3) std::this_thread::yield();
    EXPECT_EQ(calls, then);
    stop = true;
    other.join();
  }
}

TEST(Reservation, many_threads_never_pass_the_budget_and_leave_nothing_behind) {
  constexpr std::size_t budget = 1 << 20;
  BufferPool pool(budget);
  std::atomic<std::size_t> room{0};
  auto listener = pool.on_room([&room] { ++room; });
  std::atomic<std::size_t> charged{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        const std::size_t bytes = 16 + random() % (budget / 2 - 16);
        auto reservation = pool.try_reserve(bytes);
        if (!reservation) continue;
        EXPECT_LE(charged += bytes, budget);
        {
          auto slot = std::move(reservation->allocate(bytes / 2)).value();
          slot.data()[0] = std::byte{1};
          auto scratch = std::move(reservation->allocate(bytes / 4)).value();
          const Buffer copy = scratch;
          if (i % 3 == 0) {
            charged -= bytes / 2;
            slot.give_to_user();
          }
          charged -= i % 3 == 0 ? bytes - bytes / 2 : bytes;
        }
        reservation.reset();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const PoolStats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0u);
  EXPECT_EQ(stats.reserved, 0u);
  EXPECT_EQ(stats.held_by_user, 0u);
  EXPECT_LE(stats.peak, budget);
  EXPECT_EQ(stats.footprint, stats.cached);
  EXPECT_GT(room, 0u);
}

}  // namespace
}  // namespace penstock

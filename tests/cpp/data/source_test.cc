// Sources: reading again what the system refused, and records kept in memory.
#include "data/source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "data/cache.h"

namespace penstock::data {
namespace {

// Record i holds its number as text; the first `refusals` reads fail.
class Refusing final : public formats::Records {
 public:
  Refusing(int refusals, Code code) : refusals_(refusals), code_(code) {}
  std::uint64_t size() const noexcept override { return 100; }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  Status read(std::uint64_t index, BufferPool& pool, formats::Record& into) const override {
    ++reads;
    if (reads <= refusals_) return Error(code_, "refused");
    const std::string text = std::to_string(index);
    into.memory = *pool.allocate(text.size());
    std::memcpy(into.memory.data(), text.data(), text.size());
    into.fields = {{"x", formats::FieldKind::bytes, into.memory.bytes().first(text.size()), 0}};
    return {};
  }
  std::string name(std::uint64_t index) const override { return std::to_string(index); }
  std::uint64_t bytes(std::uint64_t) const noexcept override { return 8; }
  std::uint64_t largest() const noexcept override { return 8; }
  std::uint64_t mean_bytes() const noexcept override { return 8; }
  std::uint64_t digest() const noexcept override { return 1; }
  formats::Findings findings() const noexcept override { return {}; }

  mutable std::atomic<int> reads = 0;

 private:
  int refusals_;
  Code code_;
  std::vector<std::string> fields_{"x"};
};

std::string text_of(Row& row) {
  return std::string(std::get<Bytes>(*row.find("x")).text());
}

// 18: "I/O errors are retried, then raised whatever the policy"
TEST(Source, what_the_system_refuses_once_is_read_again) {
  const auto records = std::make_shared<Refusing>(2, Code::io);
  BufferPool pool;
  Row row;
  ASSERT_TRUE(source_of(records)->read(7, pool, row).ok());
  EXPECT_EQ(text_of(row), "7");
  EXPECT_EQ(records->reads, 3);
}

TEST(Source, in_a_group_only_what_was_refused_is_read_again) {
  const auto records = std::make_shared<Refusing>(1, Code::io);
  BufferPool pool;
  std::vector<Row> rows(3);
  std::vector<Row*> into{&rows[0], &rows[1], &rows[2]};
  std::vector<Status> outcomes(3);
  const std::vector<std::uint64_t> indices{5, 6, 7};
  source_of(records)->read_many(indices, pool, into, outcomes);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(outcomes[i].ok());
    EXPECT_EQ(text_of(rows[i]), std::to_string(5 + i));
  }
  EXPECT_EQ(records->reads, 4);
}

TEST(Source, it_gives_up_after_some_tries_and_does_not_retry_damage) {
  BufferPool pool;
  Row row;
  const auto refused = std::make_shared<Refusing>(1000, Code::io);
  EXPECT_EQ(source_of(refused)->read(7, pool, row).error().code(), Code::io);
  EXPECT_EQ(refused->reads, 3);
  const auto damaged = std::make_shared<Refusing>(1000, Code::corrupt);
  EXPECT_EQ(source_of(damaged)->read(7, pool, row).error().code(), Code::corrupt);
  EXPECT_EQ(damaged->reads, 1);
}

TEST(CachedSource, a_record_is_read_once_and_holds_no_memory_of_the_pool) {
  const auto records = std::make_shared<Refusing>(0, Code::io);
  const CachedSource cache(source_of(records), {}, 1 << 20);
  BufferPool pool;
  for (int pass = 0; pass < 3; ++pass) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      Row row;
      ASSERT_TRUE(cache.read(i, pool, row).ok());
      EXPECT_EQ(text_of(row), std::to_string(i));
    }
  }
  EXPECT_EQ(records->reads, 100);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(CachedSource, many_threads_stay_below_the_limit) {
  const auto records = std::make_shared<Refusing>(0, Code::io);
  const CachedSource cache(source_of(records), {}, 10'000);
  BufferPool pool;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t k = 0; k < 400; ++k) {
        Row row;
        const std::uint64_t i = (k * (t + 3)) % 100;
        ASSERT_TRUE(cache.read(i, pool, row).ok());
        ASSERT_EQ(text_of(row), std::to_string(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(cache.used(), 5'000U);
  EXPECT_LE(cache.used(), 10'000U);
}

}  // namespace
}  // namespace penstock::data

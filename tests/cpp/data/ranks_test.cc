#include "data/ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::data {
namespace {

struct Seen {
  std::vector<int> valid;   // how often each position came
  std::vector<int> filled;  // and as filling
};

// Every position that W ranks get in the first `batches` batches (all of them: -1) from `start`.
void walk(Seen& seen, std::uint64_t n, std::uint64_t start, std::uint64_t world,
          std::uint64_t batch, Ends ends, std::uint64_t batches = ~0ull) {
  seen.valid.resize(n), seen.filled.resize(n);
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    const Rounds rounds({rank, world, batch, ends}, n, start);
    for (std::uint64_t b = 0; b < std::min(batches, *rounds.batches()); ++b) {
      const BatchRows rows = rounds.at(b);
      ASSERT_LE(rows.valid, rows.rows);
      ASSERT_LE(rows.rows, batch);
      for (std::uint64_t i = 0; i < rows.rows; ++i) {
        const std::uint64_t position = rows.first + i * rows.stride;
        ASSERT_EQ(position < n, i < rows.valid);
        position < n ? seen.valid[position]++ : seen.filled[position % n]++;
      }
    }
  }
}

TEST(Ranks, after_n_batches_on_every_rank_the_consumed_set_is_a_prefix) {
  // semantics 1
  for (std::uint64_t world = 1; world <= 5; ++world) {
    for (std::uint64_t batch = 1; batch <= 4; ++batch) {
      for (const Ends ends : {Ends::pad, Ends::even, Ends::brief}) {
        for (std::uint64_t done = 0; done <= 12; ++done) {
          const std::uint64_t n = 37, start = 5;
          Seen seen;
          walk(seen, n, start, world, batch, ends, done);
          const std::uint64_t after = Rounds({0, world, batch, ends}, n, start).after(done);
          for (std::uint64_t rank = 1; rank < world; ++rank) {  // "one integer is the state"
            ASSERT_EQ(Rounds({rank, world, batch, ends}, n, start).after(done), after);
          }
          const bool over = done >= *Rounds({0, world, batch, ends}, n, start).batches();
          for (std::uint64_t p = 0; p < n; ++p) {
            if (ends == Ends::even && over) continue;  // the rest is dropped
            ASSERT_EQ(seen.valid[p], p >= start && p < after) << world << batch << done << " " << p;
          }
        }
      }
    }
  }
}

TEST(Ranks, uneven_ends) {
  // semantics 11
  for (std::uint64_t n = 1; n <= 40; ++n) {
    for (std::uint64_t world = 1; world <= 6; ++world) {
      for (std::uint64_t batch = 1; batch <= 5; ++batch) {
        Seen pad, even, brief;
        walk(pad, n, 0, world, batch, Ends::pad);
        walk(even, n, 0, world, batch, Ends::even);
        walk(brief, n, 0, world, batch, Ends::brief);
        std::uint64_t filled = 0;
        for (std::uint64_t p = 0; p < n; ++p) {
          ASSERT_EQ(pad.valid[p], 1);
          ASSERT_EQ(brief.valid[p], 1);
          ASSERT_EQ(brief.filled[p], 0);
          ASSERT_EQ(even.filled[p], 0);
          filled += static_cast<std::uint64_t>(pad.filled[p]);
          // "drop_last=True drops the last partial global round on all ranks"
          ASSERT_EQ(even.valid[p], p < n / (world * batch) * world * batch);
        }
        // "ranks with fewer rows in the last round are filled by wrap-around so that all ranks
        // have equally many rows and batches"
        EXPECT_EQ(filled, (world - n % world) % world);
        for (std::uint64_t rank = 0; rank < world; ++rank) {
          EXPECT_EQ(Rounds({rank, world, batch, Ends::pad}, n, 0).rows(), (n + world - 1) / world);
        }
      }
    }
  }
}

TEST(Ranks, wrap_around_begins_at_the_first_position) {
  const BatchRows rows = Rounds({2, 4, 8, Ends::pad}, 9, 0).at(0);
  EXPECT_EQ(rows.rows, 3u);
  EXPECT_EQ(rows.valid, 2u);
  EXPECT_EQ((rows.first + 2 * rows.stride) % 9, 1u);  // position 10 stands for 1
}

TEST(Ranks, an_endless_order_has_batches_without_end) {
  const Rounds rounds({1, 3, 4, Ends::pad}, std::nullopt, 100);
  EXPECT_FALSE(rounds.rows());
  EXPECT_FALSE(rounds.batches());
  EXPECT_EQ(rounds.at(1'000'000).first, 100u + 1 + 12'000'000);
  EXPECT_EQ(rounds.after(7), 100u + 84);
}

}  // namespace
}  // namespace penstock::data

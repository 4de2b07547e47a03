#include "data/loader.h"

#include <algorithm>
#include <numeric>

#include "orders.h"

namespace penstock::data {
namespace {

using Numbers = std::vector<std::int64_t>;

// Rows 0 to n - 1 of int64, each four numbers wide.
SourcePtr numbers(std::int64_t n) {
  const Tensor array = *Tensor::empty(DType::int64, {n, 4});
  std::iota(array.data<std::int64_t>(), array.data<std::int64_t>() + n * 4, 0);
  return *source_of_arrays({{"x", array}});
}

// Fails on rows whose number is in a list; writes the others into slot 0 if there is one.
class Place0 final : public RowStep {
 public:
  explicit Place0(Numbers bad = {}) : bad_(std::move(bad)) {}
  Status run(const RowTask& task, Row& row) const override {
    const Tensor array = std::get<Tensor>(*row.find("x"));
    const std::int64_t number = array.data<std::int64_t>()[0] / 4;
    if (std::find(bad_.begin(), bad_.end(), number) != bad_.end()) {
      return Error(Code::corrupt, "a bad row");
    }
    if (task.slots.empty()) return {};
    std::int64_t* slot = task.slots[0].data<std::int64_t>() + task.slot * 4;
    std::copy_n(array.data<std::int64_t>(), 4, slot);
    row.set("x", Placed{0});
    return {};
  }

 private:
  Numbers bad_;
};

struct Wanted {
  Order order = leaf(100);
  std::int64_t n = 100;
  Numbers bad;
  bool replace = false;
  bool call = false;
  int threads = 2;
  std::size_t budget = BufferPool::unlimited;
  Share share{0, 1, 8, Ends::pad};
  std::uint64_t epoch = 0, start = 0;
  std::size_t together = 1;
};

struct Got {
  std::vector<Numbers> batches;  // first number of each row, / 4
  std::vector<std::uint64_t> errors;
  PoolStats memory;
  std::vector<std::uint64_t> order;  // of batches
};

Got run(const Wanted& wanted) {
  auto plan = std::make_shared<LoaderPlan>(LoaderPlan{wanted.order,
                                                      {numbers(wanted.n)},
                                                      {},
                                                      std::vector<Segment>(1),
                                                      {},
                                                      0,
                                                      wanted.together,
                                                      3,
                                                      wanted.replace});
  if (wanted.call) {
    // The step comes after a call that removes multiples of 10.
    plan->segments[0].call_name = "call";
    plan->segments[0].concurrency = 3;
    plan->segments[0].call = [](const CallTask&, Row& row) -> Result<bool> {
      return std::get<Tensor>(*row.find("x")).data<std::int64_t>()[0] % 40 != 0;
    };
    plan->segments.emplace_back();
  }
  plan->segments.back().steps.push_back(std::make_shared<Place0>(wanted.bad));
  plan->slots.push_back({DType::int64, {4}});

  RunOptions options;
  options.share = wanted.share;
  options.epoch = wanted.epoch;
  options.start = wanted.start;
  options.threads = wanted.threads;
  options.budget = std::make_shared<BufferPool>(wanted.budget);
  options.encoded = std::make_shared<BufferPool>();
  options.collator = std::make_shared<Collator>(CollateOptions());
  PipelineBuilder builder;
  add_stages(builder, plan, options);
  Result<Pipeline> pipeline = builder.build({.threads = wanted.threads});
  EXPECT_TRUE(pipeline.ok()) << pipeline.error().to_string();
  EXPECT_TRUE(pipeline->start().ok());
  Got got;
  for (;;) {
    Result<std::optional<BatchPtr>> next = pipeline->next<BatchPtr>();
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !*next) break;
    Batch& batch = ***next;
    EXPECT_FALSE(batch.failure);
    got.order.push_back(batch.number);
    for (const RowError& error : batch.errors) got.errors.push_back(error.position);
    Numbers rows;
    if (!batch.columns.empty()) {
      const Tensor& x = std::get<Tensor>(batch.columns[0].values);
      EXPECT_EQ(x.shape(), (Dims{static_cast<std::int64_t>(batch.kept), 4}));
      for (std::size_t i = 0; i < batch.kept; ++i) {
        const std::int64_t* row = x.data<std::int64_t>() + i * 4;
        for (int k = 1; k < 4; ++k) EXPECT_EQ(row[k], row[0] + k);
        rows.push_back(row[0] / 4);
      }
    }
    got.batches.push_back(std::move(rows));
  }
  EXPECT_TRUE(pipeline->stop().ok());
  got.memory = options.budget->stats();
  return got;
}

Numbers flat(const Got& got) {
  Numbers all;
  for (const Numbers& batch : got.batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(Loader, rows_finish_in_any_order_but_batches_leave_in_order) {
  Wanted wanted;
  wanted.order = *leaf(1000).shuffle(5);
  wanted.n = 1000;
  const auto order = records(wanted.order, 2);
  wanted.epoch = 2;
  for (const bool call : {false, true}) {
    wanted.call = call;
    Got first;
    for (const int threads : {1, 2, 3, 8}) {
      wanted.threads = threads;
      wanted.together = threads == 3 ? 5 : 1;
      Got got = run(wanted);
      ASSERT_EQ(got.batches.size(), 125u);
      EXPECT_TRUE(std::is_sorted(got.order.begin(), got.order.end()));
      if (threads == 1) first = got;
      EXPECT_EQ(got.batches, first.batches);
      Numbers expected;
      for (const std::uint64_t record : order) {
        if (!call || record % 10 != 0) expected.push_back(static_cast<std::int64_t>(record));
      }
      EXPECT_EQ(flat(got), expected);
    }
  }
}

TEST(Loader, a_failed_row_leaves_a_hole_and_its_position) {
  // semantics 2: "its batch comes out shorter, remaining rows in position order"
  Wanted wanted;
  wanted.bad = {3, 4, 17};
  for (const bool call : {false, true}) {
    wanted.call = call;
    wanted.together = call ? 3 : 16;
    const Got got = run(wanted);
    EXPECT_EQ(got.errors, (std::vector<std::uint64_t>{3, 4, 17}));
    const Numbers first = call ? Numbers{1, 2, 5, 6, 7} : Numbers{0, 1, 2, 5, 6, 7};
    EXPECT_EQ(got.batches[0], first);
    EXPECT_EQ(got.batches.size(), 13u);
  }
}

TEST(Loader, replaced_rows_come_from_the_same_source_whatever_the_threads) {
  Wanted wanted;
  wanted.bad = {3, 4, 17};
  wanted.replace = true;
  for (const bool call : {false, true}) {
    wanted.call = call;
    wanted.threads = 1;
    const Got one = run(wanted);
    EXPECT_EQ(one.errors.size(), 3u);  // of those that were replaced
    wanted.threads = 4;
    EXPECT_EQ(run(wanted).batches, one.batches);
    const Numbers all = flat(one);
    for (const std::int64_t bad : wanted.bad) {
      EXPECT_EQ(std::count(all.begin(), all.end(), bad), 0);
    }
    EXPECT_GE(all.size(), call ? 87u : 100u);
  }
  // Where all are bad there is nothing to replace them with.
  wanted.bad.resize(100);
  std::iota(wanted.bad.begin(), wanted.bad.end(), 0);
  wanted.call = false;
  EXPECT_EQ(run(wanted).errors.size(), 100u);
}

TEST(Loader, batches_that_wait_for_their_turn_hold_no_memory) {
  // Being filled, being made into columns, or finished: six at most. Two more are admitted.
  Wanted wanted;
  wanted.order = leaf(10'000);
  wanted.n = 10'000;
  wanted.threads = 1;
  const Got got = run(wanted);
  EXPECT_EQ(flat(got).size(), 10'000u);
  EXPECT_LE(got.memory.fresh, 6u);
}

TEST(Loader, memory_stays_within_the_budget_and_the_oldest_batch_is_always_admitted) {
  // semantics 17
  Wanted wanted;
  wanted.budget = 3 * 8 * 4 * 8;
  wanted.threads = 4;
  Got got = run(wanted);
  EXPECT_EQ(flat(got).size(), 100u);
  EXPECT_LE(got.memory.peak, wanted.budget);
  EXPECT_EQ(got.memory.over_budget, 0u);
  wanted.budget = 10;
  got = run(wanted);
  EXPECT_EQ(flat(got).size(), 100u);
  EXPECT_GT(got.memory.over_budget, 0u);
  EXPECT_EQ(got.memory.in_use, 0u);
}

TEST(Loader, ranks_begin_where_the_token_says) {
  Wanted wanted;
  wanted.start = 60;
  Numbers all;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    wanted.share = {rank, 3, 5, Ends::brief};
    const Numbers mine = flat(run(wanted));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  Numbers expected(40);
  std::iota(expected.begin(), expected.end(), 60);
  EXPECT_EQ(all, expected);
}

TEST(Loader, a_row_alone_takes_the_same_steps) {
  const LoaderPlan plan{
      *leaf(10).shuffle(1), {numbers(10)}, {}, std::vector<Segment>(1), {}, 0, 1, 0, false};
  BufferPool pool;
  const auto row = run_row(plan, 0, 4, pool);
  ASSERT_TRUE(row.ok());
  ASSERT_TRUE(row->has_value());
  Row copy = **row;
  const auto expected = static_cast<std::int64_t>(records(plan.order)[4]) * 4;
  EXPECT_EQ(std::get<Tensor>(*copy.find("x")).data<std::int64_t>()[0], expected);
}

TEST(Loader, a_run_that_is_given_up_ends_at_once) {
  auto plan = std::make_shared<LoaderPlan>(LoaderPlan{*leaf(100).repeat(std::nullopt),
                                                      {numbers(100)},
                                                      {},
                                                      std::vector<Segment>(1),
                                                      {},
                                                      0,
                                                      1,
                                                      0,
                                                      false});
  for (int i = 0; i < 20; ++i) {
    RunOptions options;
    options.share.batch = 16;
    options.budget = std::make_shared<BufferPool>(10'000);
    options.encoded = std::make_shared<BufferPool>();
    options.collator = std::make_shared<Collator>(CollateOptions());
    PipelineBuilder builder;
    add_stages(builder, plan, options);
    Result<Pipeline> pipeline = builder.build({.threads = 3});
    ASSERT_TRUE(pipeline.ok());
    ASSERT_TRUE(pipeline->start().ok());
    for (int k = 0; k < i; ++k) ASSERT_TRUE(pipeline->next<BatchPtr>().ok());
    EXPECT_TRUE(pipeline->stop().ok());
  }
}

}  // namespace
}  // namespace penstock::data

// The public C++ face: the same plan gives the same rows as its parts promise.
#include "penstock/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "../formats/tars.h"
#include "../storage/temp_folder.h"

namespace penstock {
namespace {

using Numbers = std::vector<std::int64_t>;

Dataset numbers(std::int64_t n) {
  const Tensor array = *Tensor::empty(DType::int64, {n});
  std::iota(array.data<std::int64_t>(), array.data<std::int64_t>() + n, 0);
  return Dataset::of_arrays({{"x", array}});
}

// What is left of the epoch.
Numbers rest(Loader& loader, std::size_t most = 1'000'000) {
  Numbers all;
  for (std::size_t k = 0; k < most; ++k) {
    Result<std::optional<Batch>> batch = loader.next();
    EXPECT_TRUE(batch.ok()) << batch.error().to_string();
    if (!batch.ok() || !*batch) break;
    const Tensor* x = (*batch)->array("x");
    all.insert(all.end(), x->data<std::int64_t>(), x->data<std::int64_t>() + x->size());
  }
  return all;
}

Numbers epoch_of(const Dataset& dataset, LoaderOptions options = {.batch = 7}) {
  Result<Loader> loader = dataset.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.error().to_string();
  return rest(*loader);
}

TEST(Dataset, a_shuffle_has_every_sample_once_and_threads_change_nothing) {
  const Dataset ds = numbers(100).shuffle(3);
  const Numbers once = epoch_of(ds, {.batch = 7, .threads = 1});
  EXPECT_EQ(epoch_of(ds, {.batch = 7, .threads = 4, .prefetch = 5}), once);
  EXPECT_EQ(std::set(once.begin(), once.end()).size(), 100U);
  EXPECT_FALSE(std::is_sorted(once.begin(), once.end()));
}

TEST(Dataset, a_batch_that_no_memory_can_hold_is_an_error_that_says_so) {
  for (const std::uint64_t rows : {std::uint64_t(1'000'000'000'000'000), ~std::uint64_t(0)}) {
    Result<Loader> loader = numbers(20).repeat().loader({.batch = rows});
    ASSERT_TRUE(loader.ok());
    const Result<std::optional<Batch>> batch = loader->next();
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().code(), Code::out_of_memory);
    EXPECT_NE(batch.error().message().find("give batch a smaller size"), std::string::npos);
  }
  EXPECT_EQ(epoch_of(numbers(20), {.batch = 1'000'000'000'000'000}).size(), 20U);
}

TEST(Dataset, the_epoch_goes_on_after_the_last_batch) {
  Result<Loader> loader = numbers(20).shuffle(1).loader({.batch = 6});
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(loader->batches(), 4U);
  const Numbers first = rest(*loader);
  EXPECT_EQ(loader->epoch(), 1U);
  const Numbers second = rest(*loader);
  EXPECT_EQ(loader->epoch(), 2U);
  EXPECT_NE(first, second);
  EXPECT_EQ(second.size(), 20U);
}

TEST(Dataset, cuts_windows_and_repeats_are_those_of_the_order) {
  EXPECT_EQ(epoch_of(numbers(10).skip(2).take(3)), (Numbers{2, 3, 4}));
  EXPECT_EQ(epoch_of(numbers(2).repeat(3)), (Numbers{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(epoch_of(numbers(50).shuffle(1, 8)).size(), 50U);
  EXPECT_EQ(*numbers(4).repeat().size(), std::nullopt);
  EXPECT_EQ(**numbers(4).repeat().take(6).size(), 6U);
}

TEST(Dataset, a_token_goes_on_with_other_ranks_and_batch_sizes) {
  const Dataset ds = numbers(60).shuffle(5);
  Result<Loader> loader = ds.loader({.batch = 8});
  Numbers seen = rest(*loader, 3);
  const Token token = loader->token();
  EXPECT_EQ(token.position, 24U);
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    Result<Loader> part = ds.shard(rank, 4).loader({.batch = 3});
    ASSERT_TRUE(part->resume(token).ok());
    const Numbers more = rest(*part);
    seen.insert(seen.end(), more.begin(), more.end());
  }
  std::sort(seen.begin(), seen.end());
  Numbers all(60);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  EXPECT_EQ(numbers(61).shuffle(5).loader()->resume(token).error().code(), Code::invalid_argument);
  EXPECT_EQ(numbers(60).shuffle(6).loader()->resume(token).error().code(), Code::invalid_argument);
}

TEST(Dataset, at_an_epochs_end_the_token_is_that_of_the_next) {
  Result<Loader> loader = numbers(10).loader({.batch = 5});
  rest(*loader, 2);
  EXPECT_EQ(loader->token().epoch, 1U);
  EXPECT_EQ(loader->token().position, 0U);
}

TEST(Dataset, tars_give_raw_fields_and_decoded_ones) {
  const TempFolder folder;
  formats::Tar tar = formats::shard(10, 300);
  tar.end();
  folder.write("a.tar", tar.bytes());
  for (const bool mmap : {false, true}) {
    const Dataset ds = Dataset::open({folder / "a.tar"}, {.mmap = mmap});
    EXPECT_EQ(*ds.fields(), (std::vector<std::string>{"__key__", "jpg", "cls"}));
    Result<Loader> loader = ds.decode("cls", "cls").rename("cls", "label").loader({.batch = 10});
    ASSERT_TRUE(loader.ok());
    const Result<std::optional<Batch>> batch = loader->next();
    ASSERT_TRUE(batch.ok());
    const Batch& all = **batch;
    EXPECT_EQ(all.fields(), (std::vector<std::string>{"__key__", "jpg", "label"}));
    EXPECT_EQ(all.array("label")->data<std::int64_t>()[9], 9);
    EXPECT_EQ((*all.list("jpg"))[2].text(), std::string(300, 'c'));
    EXPECT_EQ((*all.list("__key__"))[2].text(), "000002");
    EXPECT_EQ(all.array("jpg"), nullptr);
    EXPECT_EQ(all.list("label"), nullptr);
  }
}

TEST(Dataset, bad_samples_are_raised_skipped_or_replaced) {
  const TempFolder folder;
  formats::Tar tar;
  for (int i = 0; i < 10; ++i) tar.member(formats::key_of(i) + ".cls", i == 4 ? "?" : "7");
  tar.end();
  folder.write("a.tar", tar.bytes());
  const Dataset ds = Dataset::open({folder / "a.tar"}).decode("cls", "cls").select({"cls"});
  Result<Loader> raising = ds.loader({.batch = 3});
  EXPECT_EQ((*raising->next())->rows(), 3U);
  EXPECT_EQ(raising->next().error().code(), Code::corrupt);
  Result<Loader> skipping = ds.loader({.batch = 3, .on_error = OnError::skip});
  std::vector<std::size_t> rows;
  for (int k = 0; k < 4; ++k) {
    const auto batch = skipping->next();
    rows.push_back((*batch)->rows());
    if (k == 1) {
      ASSERT_EQ((*batch)->errors().size(), 1U);
      EXPECT_EQ((*batch)->errors()[0].position, 4U);
    }
  }
  EXPECT_EQ(rows, (std::vector<std::size_t>{3, 2, 3, 1}));
  Result<Loader> replacing = ds.loader({.batch = 10, .on_error = OnError::replace});
  const auto replaced = replacing->next();
  EXPECT_EQ((*replaced)->rows(), 10U);
  ASSERT_EQ((*replaced)->errors().size(), 1U);
  EXPECT_EQ((*replaced)->errors()[0].position, 4U);
}

TEST(Dataset, what_cannot_work_is_said_where_it_is_asked_for) {
  const Dataset missing = Dataset::open({"/no/such/file.tar"}).shuffle(1).take(3);
  EXPECT_EQ(missing.status().error().code(), Code::not_found);
  EXPECT_EQ(missing.loader().error().code(), Code::not_found);
  EXPECT_EQ(missing.size().error().code(), Code::not_found);
  EXPECT_FALSE(numbers(3).shard(3, 3).status().ok());
  EXPECT_FALSE(numbers(3).shard(0, 3).shard(0, 3).status().ok());
  EXPECT_FALSE(numbers(3).decode("x", "pickle").status().ok());
  EXPECT_FALSE(numbers(3).loader({.batch = 0}).ok());
  EXPECT_FALSE(numbers(3).decode_image("x", {.random_crop = true}).loader().ok());
}

}  // namespace
}  // namespace penstock

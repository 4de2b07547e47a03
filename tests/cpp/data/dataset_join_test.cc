// Joins, draws, filters and caches of the public C++ face.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "../formats/tars.h"
#include "../storage/temp_folder.h"
#include "penstock/dataset.h"

namespace penstock {
namespace {

using Numbers = std::vector<std::int64_t>;

Dataset numbers(std::int64_t first, std::int64_t n, const std::string& name = "x") {
  const Tensor array = *Tensor::empty(DType::int64, {n});
  std::iota(array.data<std::int64_t>(), array.data<std::int64_t>() + n, first);
  return Dataset::of_arrays({{name, array}});
}

Numbers column(const Dataset& ds, const char* field = "x", LoaderOptions options = {.batch = 7},
               std::uint64_t epoch = 0) {
  Result<Loader> loader = ds.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.error().to_string();
  Numbers all;
  if (!loader.ok()) return all;
  Token token = loader->token();
  token.epoch = epoch;
  EXPECT_TRUE(loader->resume(token).ok());
  for (;;) {
    Result<std::optional<Batch>> batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().to_string();
    if (!batch.ok() || !*batch) return all;
    const Tensor* x = (*batch)->array(field);
    if (x == nullptr) continue;
    all.insert(all.end(), x->data<std::int64_t>(), x->data<std::int64_t>() + x->size());
  }
}

Numbers sorted(Numbers all) {
  std::sort(all.begin(), all.end());
  return all;
}

Numbers range(std::int64_t n) {
  Numbers all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

bool is_even(const Sample& sample) {
  return *sample.integer("x") % 2 == 0;
}

TEST(DatasetJoins, concat_has_one_after_the_other_and_freezes_their_shuffles) {
  const Dataset ds = numbers(0, 10).shuffle(1).concat(numbers(10, 5)).concat(numbers(15, 5));
  EXPECT_EQ(**ds.size(), 20U);
  const Numbers once = column(ds);
  EXPECT_EQ(column(ds, "x", {.batch = 7}, 1), once);
  EXPECT_EQ(sorted(once), range(20));
  EXPECT_TRUE(std::is_sorted(once.begin() + 10, once.end()));
  EXPECT_FALSE(std::is_sorted(once.begin(), once.begin() + 10));
  EXPECT_NE(column(ds.shuffle(2)), column(ds.shuffle(2), "x", {.batch = 7}, 1));
}

TEST(DatasetJoins, zip_has_the_fields_of_both) {
  const Dataset ds = numbers(0, 20).zip(numbers(100, 20, "y")).shuffle(3);
  EXPECT_EQ(sorted(column(ds)), range(20));
  const Numbers x = column(ds), y = column(ds, "y");
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i] + 100);
  EXPECT_FALSE(numbers(0, 5).zip(numbers(0, 5)).status().ok());  // both have x
  EXPECT_TRUE(numbers(0, 5).zip(numbers(0, 5).rename("x", "y")).status().ok());
  EXPECT_FALSE(numbers(0, 5).zip(numbers(0, 6, "y")).status().ok());
}

TEST(DatasetJoins, mix_goes_by_weight_until_a_part_runs_out_or_without_end) {
  const Dataset ds = Dataset::mix({numbers(0, 300), numbers(1000, 100)}, {3, 1}, 5);
  const Numbers got = column(ds);
  std::map<bool, std::size_t> counts;
  for (std::size_t i = 0; i < 40; ++i) counts[got[i] >= 1000]++;
  EXPECT_EQ(counts[false], 30U);
  EXPECT_EQ(counts[true], 10U);
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), got.size());
  const Dataset endless = Dataset::mix({numbers(0, 3), numbers(10, 3)}, {}, 5, true);
  EXPECT_EQ(*endless.size(), std::nullopt);
  const Numbers some = column(endless.take(12));
  EXPECT_EQ(std::count(some.begin(), some.end(), 1), 2);
  EXPECT_FALSE(Dataset::mix({}).status().ok());
  EXPECT_FALSE(Dataset::mix({numbers(0, 3)}, {1, 2}).status().ok());
}

TEST(DatasetJoins, ranks_and_errors_of_parts_are_those_of_the_whole) {
  const Dataset ds = numbers(0, 10).concat(numbers(10, 10).shard(1, 2));
  EXPECT_EQ(column(ds), (Numbers{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}));
  EXPECT_FALSE(numbers(0, 9).shard(0, 2).concat(numbers(0, 9).shard(1, 2)).status().ok());
  const Dataset missing = Dataset::open({"/no/such/file.tar"});
  EXPECT_EQ(numbers(0, 9).concat(missing).status().error().code(), Code::not_found);
  EXPECT_EQ(missing.zip(numbers(0, 9)).status().error().code(), Code::not_found);
  EXPECT_EQ(Dataset::mix({numbers(0, 9), missing}).status().error().code(), Code::not_found);
}

TEST(DatasetJoins, a_token_of_a_joined_dataset_resumes_it) {
  const Dataset ds = Dataset::mix({numbers(0, 50), numbers(50, 50)}).concat(numbers(100, 30));
  Result<Loader> loader = ds.shuffle(4).loader({.batch = 16});
  ASSERT_TRUE(loader->next().ok());
  Result<Loader> other = ds.shuffle(4).loader({.batch = 16});
  ASSERT_TRUE(other->resume(loader->token()).ok());
  const auto a = loader->next(), b = other->next();
  const Tensor &x = *(**a).array("x"), &y = *(**b).array("x");
  EXPECT_TRUE(
      std::equal(x.data<std::int64_t>(), x.data<std::int64_t>() + 16, y.data<std::int64_t>()));
  Result<Loader> stranger = numbers(0, 130).shuffle(4).loader();
  EXPECT_FALSE(stranger->resume(loader->token()).ok());
}

TEST(DatasetDraws, sample_draws_by_weight_and_anew_in_each_epoch) {
  const Dataset ds = numbers(0, 4).sample({0, 1, 0, 3}, 4000, 7);
  const Numbers got = column(ds);
  EXPECT_EQ(std::count(got.begin(), got.end(), 0) + std::count(got.begin(), got.end(), 2), 0);
  EXPECT_NEAR(double(std::count(got.begin(), got.end(), 3)), 3000.0, 150.0);
  EXPECT_NE(column(ds, "x", {.batch = 7}, 1), got);
  EXPECT_EQ(**numbers(0, 4).sample({1, 1, 1, 1}).size(), 4U);
  EXPECT_FALSE(numbers(0, 4).sample({1, 1}).status().ok());
  EXPECT_FALSE(ds.filter(is_even).status().ok());
}

TEST(DatasetDraws, split_gives_parts_that_never_overlap) {
  const std::vector<Dataset> parts = numbers(0, 100).split({0.7, 0.2});
  ASSERT_EQ(parts.size(), 3U);
  Numbers all;
  for (const Dataset& part : parts) {
    const Numbers some = column(part);
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_EQ(**parts[0].size(), 70U);
  EXPECT_EQ(**parts[2].size(), 10U);
  EXPECT_EQ(sorted(all), range(100));
  EXPECT_EQ(column(numbers(0, 10).split({0.3}, std::nullopt)[0]), (Numbers{0, 1, 2}));
  EXPECT_FALSE(numbers(0, 10).split({0.7, 0.7})[0].status().ok());
  EXPECT_FALSE(numbers(0, 10).repeat().split({0.7})[1].status().ok());
}

TEST(DatasetFilters, an_early_one_leaves_a_dataset_of_what_is_left) {
  for (const Dataset& ds :
       {numbers(0, 5000).shuffle(3).filter(is_even), numbers(0, 5000).filter(is_even).shuffle(3)}) {
    EXPECT_EQ(**ds.size(), 2500U);
    const Numbers once = column(ds), again = column(ds, "x", {.batch = 7}, 1);
    EXPECT_NE(once, again);
    EXPECT_EQ(sorted(once), sorted(again));
    EXPECT_EQ(sorted(once)[1], 2);
    EXPECT_EQ(std::set(once.begin(), once.end()).size(), 2500U);
  }
  EXPECT_EQ(column(numbers(0, 10).rename("x", "y").filter(
                       [](const Sample& sample) { return *sample.number("y") > 6.5; }),
                   "y"),
            (Numbers{7, 8, 9}));
}

TEST(DatasetFilters, it_is_called_once_for_each_record_and_may_throw) {
  std::atomic<int> calls = 0;
  const Dataset ds = numbers(0, 3000).repeat(4).filter([&](const Sample& sample) {
    ++calls;
    return sample.array("x") != nullptr && sample.fields() == std::vector<std::string>{"x"};
  });
  EXPECT_EQ(calls, 3000);
  EXPECT_EQ(**ds.size(), 12000U);
  const Status thrown =
      numbers(0, 3000)
          .filter([](const Sample&) -> bool { throw std::runtime_error("no luck"); })
          .status();
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().code(), Code::failed);
  EXPECT_NE(thrown.error().message().find("no luck"), std::string::npos);
}

TEST(DatasetFilters, a_late_one_leaves_holes_in_batches) {
  const TempFolder folder;
  formats::Tar tar;
  for (int i = 0; i < 20; ++i) tar.member(formats::key_of(i) + ".cls", std::to_string(i));
  tar.end();
  folder.write("a.tar", tar.bytes());
  const Dataset raw = Dataset::open({folder / "a.tar"});
  const Dataset late = raw.decode("cls", "cls").filter([](const Sample& sample) {
    return *sample.integer("cls") % 5 != 0;
  });
  EXPECT_FALSE(late.size().ok());
  for (const int threads : {1, 3}) {
    Result<Loader> loader = late.loader({.batch = 6, .threads = threads});
    EXPECT_EQ(loader->batches(), 4U);
    std::vector<std::size_t> rows;
    for (int k = 0; k < 4; ++k) rows.push_back((*loader->next())->rows());
    EXPECT_EQ(rows, (std::vector<std::size_t>{4, 5, 5, 2}));
  }
  const Dataset early = raw.filter([](const Sample& sample) {
    return sample.raw("cls")->text().size() == 1 && !sample.raw("jpg");
  });
  EXPECT_EQ(**early.size(), 10U);
  EXPECT_FALSE(late.concat(raw).status().ok());
  EXPECT_FALSE(late.cache().status().ok());
}

TEST(DatasetCache, what_is_kept_is_not_read_again) {
  const TempFolder folder;
  formats::Tar tar;
  for (int i = 0; i < 20; ++i) tar.member(formats::key_of(i) + ".cls", std::to_string(i));
  tar.end();
  folder.write("a.tar", tar.bytes());
  const Dataset raw = Dataset::open({folder / "a.tar"}).decode("cls", "cls").select({"cls"});
  const Dataset ds = raw.cache().shuffle(2);
  const Numbers once = column(ds, "cls");
  std::filesystem::resize_file(std::string(folder / "a.tar"), 0);
  EXPECT_EQ(column(ds, "cls", {.batch = 3, .threads = 2}), once);
  EXPECT_EQ(sorted(once), range(20));
  EXPECT_FALSE(raw.loader({.batch = 20})->next().ok());
  EXPECT_FALSE(raw.cache(1).loader({.batch = 20})->next().ok());
  EXPECT_FALSE(
      numbers(0, 3).decode_image("x", {.size = {{2, 2}}, .flip = 0.5}).cache().status().ok());
  EXPECT_FALSE(numbers(0, 3).zip(numbers(0, 3, "y")).rename("y", "z").cache().status().ok());
}

// Pictures of one grey each, number i in grey i.
std::string pictures(const TempFolder& folder, const std::string& name, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    folder.write(name + std::to_string(100 + i) + ".ppm",
                 "P6 8 8 255\n" + std::string(8 * 8 * 3, char(i)));
  }
  return folder / (name + "*.ppm");
}

TEST(DatasetJoins, pictures_of_parts_lie_in_the_batch_as_asked_for) {
  const TempFolder folder;
  const Dataset a = Dataset::open({pictures(folder, "a", 0, 4)}).select({"image"});
  const Dataset b = Dataset::open({pictures(folder, "b", 4, 4)}).select({"image"});
  const DecodeImageOptions plain{.size = {{4, 4}}}, cut{.size = {{4, 4}}, .centre_crop = true};
  const LoaderOptions options{
      .batch = 8, .threads = 2, .channels_first = true, .dtype = DType::float32};
  const auto grey = [](const Sample& sample) {
    const Tensor* array = sample.array("image");
    return array != nullptr && array->data<std::uint8_t>()[0] < 100;
  };
  for (const Dataset& ds : {
           a.concat(b).decode_image("image", plain),
           a.decode_image("image", plain).concat(b.decode_image("image", plain)),
           a.decode_image("image", plain).concat(b.decode_image("image", cut)),
           a.decode_image("image", plain)
               .rename("image", "pixels")
               .rename("pixels", "image")
               .concat(b.decode_image("image", cut)),
           a.concat(b).decode_image("image", plain).cache(),
           a.concat(b).decode_image("image", plain).filter(grey),
           a.decode_image("image", plain).concat(b.decode_image("image", cut)).filter(grey),
       }) {
    Result<Loader> loader = ds.loader(options);
    ASSERT_TRUE(loader.ok()) << loader.error().to_string();
    const auto batch = loader->next();
    ASSERT_TRUE(batch.ok()) << batch.error().to_string();
    const Tensor& images = *(**batch).array("image");
    ASSERT_EQ(images.shape(), (Dims{8, 3, 4, 4}));
    for (int i = 0; i < 8; ++i) EXPECT_EQ(images.data<float>()[i * 48], float(i));
  }
}

}  // namespace
}  // namespace penstock

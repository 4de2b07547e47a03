#include "storage/read_ahead.h"

#include <gtest/gtest.h>

#include "cold_file.h"
#include "temp_folder.h"

namespace penstock::storage {
namespace {

// Writes down what it was told.
class Listener final : public Source {
 public:
  explicit Listener(bool from_disk) : from_disk_(from_disk) {}
  const std::string& name() const noexcept override { return name_; }
  Stamp stamp() const noexcept override { return {std::uint64_t(1) << 40, 0}; }
  Status read(std::uint64_t, std::span<std::byte>) const override { return {}; }
  bool read_ahead(Range range) const noexcept override {
    told.emplace_back(range.offset, range.size);
    return from_disk_;
  }

  mutable std::vector<std::pair<std::uint64_t, std::uint64_t>> told;

 private:
  bool from_disk_;
  std::string name_ = "listener";
};

int times_of(const std::shared_ptr<Listener>& source, int tries) {
  ReadAhead ahead;
  int times = 0;
  for (int i = 0; i < tries; ++i) {
    if (!ahead.begin()) continue;
    ahead.add(source, {0, 1});
    ahead.end();
    ++times;
  }
  return times;
}

TEST(ReadAhead, neighbours_are_told_as_one_range_in_the_order_of_the_file) {
  const auto one = std::make_shared<Listener>(true), other = std::make_shared<Listener>(true);
  ReadAhead ahead;
  ASSERT_TRUE(ahead.begin());
  ahead.add(one, {5 << 20, 100});
  ahead.add(one, {1100, 50});
  ahead.add(other, {7, 1});
  ahead.add(one, {1000, 100});
  ahead.end();
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> wanted{{1000, 150}, {5 << 20, 100}};
  EXPECT_EQ(one->told, wanted);
  EXPECT_EQ(other->told.size(), 1U);
  EXPECT_EQ(ahead.told(), 251U);
}

TEST(ReadAhead, what_comes_from_a_disk_is_told_every_time) {
  EXPECT_EQ(times_of(std::make_shared<Listener>(true), 1000), 1000);
}

TEST(ReadAhead, what_is_in_memory_is_told_less_and_less) {
  EXPECT_LT(times_of(std::make_shared<Listener>(false), 1000), 25);
  EXPECT_GT(times_of(std::make_shared<Listener>(false), 1000), 10);
}

TEST(ReadAhead, asks_for_no_more_than_it_may_at_a_time) {
  const auto source = std::make_shared<Listener>(true);
  ReadAhead ahead;
  ASSERT_TRUE(ahead.begin());
  for (std::uint64_t i = 0; i < 1000; ++i) ahead.add(source, {i << 24, 1 << 20});
  EXPECT_TRUE(ahead.full());
  ahead.end();
  std::uint64_t bytes = 0;
  for (const auto& [offset, size] : source->told) bytes += size;
  EXPECT_EQ(bytes, ReadAhead::kMostBytes);
  EXPECT_EQ(ahead.told(), bytes);
}

TEST(File, bytes_that_will_be_read_come_into_memory_once) {
  const TempFolder folder;
  const std::string path = folder.write("a", std::string(1 << 20, 'x'));
  if (!drop_from_memory(path)) GTEST_SKIP() << "no disk here";
  const auto file = File::open(path);
  EXPECT_TRUE((*file)->read_ahead({300'000, 300'000}));
  for (std::size_t page = 300'000 / kPage; page <= 600'000 / kPage; ++page) {
    wait_for_page(path, page);
  }
  EXPECT_FALSE((*file)->read_ahead({300'000, 300'000}));
  EXPECT_FALSE((*file)->read_ahead({std::uint64_t(1) << 62, 1}));
}

}  // namespace
}  // namespace penstock::storage

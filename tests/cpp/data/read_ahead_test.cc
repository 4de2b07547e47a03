#include "storage/read_ahead.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "data/loader.h"
#include "orders.h"

namespace penstock::data {
namespace {

constexpr std::uint64_t kRecords = 400, kRecordBytes = 1 << 20, kBatch = 4;

// What the disk was told, and how many records had been read by then.
class Disk final : public storage::Source {
 public:
  explicit Disk(bool cold) : cold_(cold) {}
  const std::string& name() const noexcept override { return name_; }
  storage::Stamp stamp() const noexcept override { return {kRecords * kRecordBytes, 0}; }
  Status read(std::uint64_t, std::span<std::byte>) const override { return {}; }
  bool read_ahead(storage::Range range) const noexcept override {
    const std::lock_guard hold(mutex);
    for (std::uint64_t at = range.offset; at < range.end(); at += kRecordBytes) {
      told.push_back(at / kRecordBytes);
    }
    farthest = std::max(farthest, told.size() - read_so_far);
    return cold_;
  }

  mutable std::mutex mutex;
  mutable std::vector<std::uint64_t> told;
  mutable std::size_t read_so_far = 0, farthest = 0;
  mutable bool untold = false;  // was a record read that had not been told?

 private:
  bool cold_;
  std::string name_ = "disk";
};

class OnDisk final : public Source {
 public:
  explicit OnDisk(std::shared_ptr<const Disk> disk) : disk_(std::move(disk)) {}
  std::uint64_t size() const noexcept override { return kRecords; }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  std::string name(std::uint64_t) const override { return "record"; }
  std::uint64_t mean_bytes() const noexcept override { return kRecordBytes; }
  std::uint64_t digest() const noexcept override { return 0; }
  Status read(std::uint64_t record, BufferPool&, Row& into) const override {
    const std::lock_guard hold(disk_->mutex);
    ++disk_->read_so_far;
    disk_->untold |= std::find(disk_->told.begin(), disk_->told.end(), record) == disk_->told.end();
    into.fields.push_back({"n", std::int64_t(record)});
    return {};
  }
  bool on_disk() const noexcept override { return true; }
  void tell_places(std::span<const std::uint64_t> records,
                   storage::ReadAhead& ahead) const override {
    for (const std::uint64_t record : records) {
      ahead.add(disk_, {record * kRecordBytes, kRecordBytes});
    }
  }

 private:
  std::shared_ptr<const Disk> disk_;
  std::vector<std::string> fields_{"n"};
};

std::shared_ptr<const Disk> read_all(const Order& order, Share share, bool cold = true) {
  const auto disk = std::make_shared<const Disk>(cold);
  auto plan = std::make_shared<LoaderPlan>(LoaderPlan{
      order, {std::make_shared<OnDisk>(disk)}, {}, std::vector<Segment>(1), {}, 0, 1, 3, false});
  RunOptions options;
  options.share = share;
  options.budget = std::make_shared<BufferPool>();
  options.encoded = std::make_shared<BufferPool>();
  options.collator = std::make_shared<Collator>(CollateOptions());
  PipelineBuilder builder;
  add_stages(builder, plan, options);
  Result<Pipeline> pipeline = builder.build({.threads = 2});
  EXPECT_TRUE(pipeline.ok()) << pipeline.error().to_string();
  EXPECT_TRUE(pipeline->start().ok());
  for (;;) {
    Result<std::optional<BatchPtr>> next = pipeline->next<BatchPtr>();
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !*next) break;
  }
  EXPECT_TRUE(pipeline->stop().ok());
  return disk;
}

TEST(Loader, the_disk_is_told_of_each_record_once_before_it_is_read) {
  const auto disk = read_all(*leaf(kRecords).shuffle(5), {0, 1, kBatch, Ends::pad});
  EXPECT_FALSE(disk->untold);
  EXPECT_EQ(disk->told.size(), kRecords);
  EXPECT_EQ(std::set(disk->told.begin(), disk->told.end()).size(), kRecords);
}

TEST(Loader, the_disk_is_told_of_what_comes_soon_and_no_more) {
  const auto disk = read_all(*leaf(kRecords).shuffle(5), {0, 1, kBatch, Ends::pad});
  EXPECT_GE(disk->farthest, 16U);   // megabytes
  EXPECT_LE(disk->farthest, 100U);  // with the batches that are being read
}

TEST(Loader, what_is_in_memory_is_hardly_ever_told) {
  const auto disk = read_all(*leaf(kRecords).shuffle(5), {0, 1, kBatch, Ends::pad}, false);
  EXPECT_GE(disk->told.size(), kBatch);
  EXPECT_LE(disk->told.size(), kRecords / 10);
}

TEST(Loader, the_disk_is_told_of_a_ranks_own_records) {
  const auto disk = read_all(leaf(kRecords), {1, 4, kBatch, Ends::pad});
  EXPECT_FALSE(disk->untold);
  EXPECT_EQ(disk->told.size(), kRecords / 4);
}

}  // namespace
}  // namespace penstock::data

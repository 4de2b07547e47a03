// Fetching records of IndexedRecords from afar: all ranges of a batch are under way together.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <tuple>

#include "formats/indexed_records.h"
#include "formats/record_layout.h"
#include "storage/ranges.h"
#include "storage/wait.h"

namespace penstock::formats {

class IndexedRecords::RemoteFetch final : public Fetch {
 public:
  RemoteFetch(const IndexedRecords& records, std::span<const std::uint64_t> indices)
      : records_(records), wanted_(indices.size()) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      One& one = wanted_[k];
      one.status = records_.find(indices[k], one.found);
      if (one.status.ok()) one.status = records_.measure(one.found, one.extent);
    }
    merge_neighbours();
    for (One& one : wanted_) {
      if (one.status.ok() && one.extent.pieces != 1) add_pieces(one);
    }
  }

  ~RemoteFetch() override { state_->abandoned = true; }

  std::atomic<bool>& abandoned() noexcept { return state_->abandoned; }

  std::uint64_t bytes() const noexcept override {
    std::uint64_t all = 0;
    for (const Block& block : blocks_) all += block.size;
    return all;
  }

  void start(BufferPool& pool, std::function<void()> done) override {
    state_->outcomes.resize(reads_.size());
    state_->done = std::move(done);
    for (Block& block : blocks_) {
      const Result<Buffer> memory = pool.allocate(std::max<std::size_t>(block.size, 1));
      if (memory) block.memory = *memory;
      state_->memory.push_back(block.memory);
    }
    state_->left = reads_.size() + 1;  // one for this function
    const storage::Abandoned abandoned(state_, &state_->abandoned);
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      const Piece& piece = reads_[i];
      const Buffer& memory = blocks_[piece.block].memory;
      const auto finished = [state = state_, i](Status status) {
        state->outcomes[i] = std::move(status);
        state->finish_one();
      };
      const auto file = records_.files_.open(piece.shard);
      if (!file || !memory) {
        finished(!file ? Status(file.error())
                       : Status(Error(Code::out_of_memory, "no memory for a range of bytes")));
        continue;
      }
      (*file)->start(
          {piece.range.offset, memory.bytes().subspan(piece.at, std::size_t(piece.range.size))},
          finished, abandoned);
    }
    state_->finish_one();
  }

  bool ready() const noexcept override { return state_->left.load(std::memory_order_acquire) == 0; }

  Status take(std::size_t k, Record& into) const override {
    const One& one = wanted_[k];
    Status status = one.status;
    for (std::size_t r = one.first_read; status.ok() && r < one.first_read + one.reads; ++r) {
      if (!state_->outcomes[r].ok()) {
        status = records_.located(state_->outcomes[r].error(), one.found);
      }
    }
    if (status.ok()) {
      const Block& block = blocks_[one.block];
      status = records_.view_fetched(one.found, one.extent, block.memory, one.at, one.key_at, into);
    }
    if (!status.ok()) into.clear();
    return status;
  }

 private:
  struct One {  // a record
    Found found;
    Extent extent;
    Status status;  // of finding it
    std::size_t block = 0, at = 0, key_at = 0;
    std::size_t first_read = 0, reads = 0;
  };
  struct Block {
    std::size_t size = 0;
    Buffer memory = {};
  };
  struct Piece {  // a read
    std::size_t shard = 0;
    storage::Range range;
    std::size_t block = 0, at = 0;
  };
  // What reads under way need. They may outlive the rest, and do not hold the files: the last one
  // to go must not be a thread of the storage.
  struct State {
    std::vector<Buffer> memory;
    std::vector<Status> outcomes;  // of the reads
    std::atomic<std::size_t> left = 1;
    std::atomic<bool> abandoned = false;
    std::function<void()> done;

    void finish_one() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) done();
    }
  };

  // Records in one piece: those that lie near one another are one read, and share a block.
  void merge_neighbours() {
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      if (wanted_[k].status.ok() && wanted_[k].extent.pieces == 1) order.push_back(k);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const One &one = wanted_[a], &other = wanted_[b];
      return std::tie(one.found.shard, one.extent.range.offset, a) <
             std::tie(other.found.shard, other.extent.range.offset, b);
    });
    std::vector<storage::Range> ranges;
    std::vector<storage::MergedRange> merged;
    for (std::size_t first = 0; first < order.size();) {
      const std::size_t shard = wanted_[order[first]].found.shard;
      ranges.clear();
      std::size_t end = first;
      for (; end < order.size() && wanted_[order[end]].found.shard == shard; ++end) {
        ranges.push_back(wanted_[order[end]].extent.range);
      }
      storage::merge(ranges, {}, merged);
      for (const storage::MergedRange& range : merged) {
        Block block{std::size_t(range.range.size)};
        for (std::size_t i = range.first; i < range.first + range.count; ++i) {
          One& one = wanted_[order[first + i]];
          one.block = blocks_.size();
          one.at = std::size_t(one.extent.range.offset - range.range.offset);
          one.key_at = block.size;
          block.size += one.found.entry.key.size();
          one.first_read = reads_.size();
          one.reads = 1;
        }
        reads_.push_back({shard, range.range, blocks_.size(), 0});
        blocks_.push_back(std::move(block));
      }
      first = end;
    }
  }

  // A record with parts that lie far apart: a block of its own, and several reads.
  void add_pieces(One& one) {
    one.block = blocks_.size();
    one.first_read = reads_.size();
    const Opened& shard = records_.shards_[one.found.shard];
    RecordLayout layout;
    Index::Part part;
    const std::uint64_t behind = one.found.entry.first + one.found.entry.count;
    for (std::uint64_t p = one.found.entry.first; p < behind; ++p) {
      if (!shard.index.part(one.found.record, p, part)) continue;  // measured before
      if (shard.fields[part.field] == kUnwanted) continue;
      const std::uint64_t size = part.size + records_.traits_.trailer;
      (void)layout.add(part.offset, size);
      if (!layout.new_read()) {
        reads_.back().range.size = part.offset + size - reads_.back().range.offset;
        continue;
      }
      reads_.push_back(
          {one.found.shard, {part.offset, size}, one.block, std::size_t(layout.place())});
    }
    one.reads = reads_.size() - one.first_read;
    one.key_at = std::size_t(layout.total());
    blocks_.push_back({one.key_at + one.found.entry.key.size()});
  }

  const IndexedRecords& records_;
  std::vector<One> wanted_;
  std::vector<Piece> reads_;
  std::vector<Block> blocks_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::unique_ptr<Fetch> IndexedRecords::fetch(std::span<const std::uint64_t> indices) const {
  if (!remote_) return nullptr;
  return std::make_unique<RemoteFetch>(*this, indices);
}

void IndexedRecords::fetch_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                                std::span<Record> into, std::span<Status> outcomes) const {
  RemoteFetch fetch(*this, indices);
  std::mutex mutex;
  std::condition_variable ready;
  bool all_there = false;
  fetch.start(pool, [&] {
    const std::lock_guard lock(mutex);
    all_there = true;
    ready.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    storage::wait_unless_stopped(ready, lock, fetch.abandoned(), [&] { return all_there; });
  }
  for (std::size_t k = 0; k < indices.size(); ++k) outcomes[k] = fetch.take(k, into[k]);
}

}  // namespace penstock::formats

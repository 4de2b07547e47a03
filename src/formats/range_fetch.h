// RangeFetch: ranges of bytes that are fetched from afar, those that lie near one another in one
// request, all of them under way at once. What the Fetches of formats whose records are ranges
// stand on.
//
// add() all, then start(); get() when it is ready. What is under way when it is destroyed is
// abandoned.
//
// Thread safety: ready() and get() from any thread; the rest from one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"
#include "storage/ranges.h"
#include "storage/source.h"

namespace penstock::formats {

// Where some bytes are.
struct BytesAt {
  std::shared_ptr<const storage::Source> source;
  storage::Range range;
};

class RangeFetch {
 public:
  struct Piece {
    Buffer memory;
    std::span<const std::byte> bytes;
  };

  RangeFetch() = default;
  RangeFetch(const RangeFetch&) = delete;
  RangeFetch& operator=(const RangeFetch&) = delete;
  ~RangeFetch() { state_->abandoned = true; }

  // Its number, for get().
  std::size_t add(BytesAt place);
  std::size_t size() const noexcept { return wanted_.size(); }
  // Finds out which ones are fetched together; no add() after this.
  void merge();

  // As those of Fetch (records.h).
  std::uint64_t bytes() const noexcept;
  void start(BufferPool& pool, std::function<void()> done);
  bool ready() const noexcept { return state_->left.load(std::memory_order_acquire) == 0; }

  Result<Piece> get(std::size_t number) const;

 private:
  struct One {
    BytesAt place;
    std::size_t request = 0;
  };
  // What is under way needs no more than this, which may outlive the rest.
  struct State {
    std::vector<Buffer> memory;  // of the requests
    std::vector<Status> outcomes;
    std::atomic<std::size_t> left = 1;
    std::atomic<bool> abandoned = false;
    std::function<void()> done;

    void finish_one() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) done();
    }
  };

  std::vector<One> wanted_;
  std::vector<BytesAt> requests_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace penstock::formats

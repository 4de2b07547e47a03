// Admission: opens batches, in order, as the budget allows. The step function of a loader's source.
// What comes from afar is asked for when its batch is opened, some batches ahead; a batch is handed
// on when its bytes are there.
//
// Thread safety: one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "data/loader.h"
#include "storage/read_ahead.h"

namespace penstock::data {

class Admission {
 public:
  Admission(PlanPtr plan, const RunOptions& options);
  Step operator()(Context& ctx);

 private:
  // Of batches whose bytes are under way.
  struct Coming {
    BatchPtr batch;
    std::size_t fetch_bytes = 0, all_bytes = 0;

    bool ready() const noexcept;
  };
  bool far_enough() const noexcept;
  Result<bool> admit(Context& ctx);  // the next batch; false: there is no room
  BatchPtr open();
  void plan_fetch(Batch& batch);
  std::size_t measure(Batch& batch) const;
  void advise(const Batch& batch) const;
  void order_reads(Batch& batch) const;
  void tell_ahead();
  void read_ahead();

  PlanPtr plan_;
  RunOptions options_;
  Rounds rounds_;
  std::optional<std::uint64_t> batches_;
  std::size_t slot_bytes_ = 0;  // per row
  bool in_blocks_ = false;      // does a source read several records together?
  std::uint64_t ahead_ = 0;     // rows that sources want to know before they are read
  std::uint64_t next_ = 0;      // to be opened
  std::uint64_t told_ = 0;      // batches whose rows the sources know
  struct Asked {                // a batch that the disk was told of
    std::uint64_t number = 0, bytes = 0;
  };
  bool on_disk_ = false;
  storage::ReadAhead disk_;
  std::deque<Asked> asked_;        // those that are not open yet
  std::uint64_t asked_until_ = 0;  // a batch
  std::uint64_t asked_bytes_ = 0;
  bool heard_ = false;
  std::shared_ptr<RoomListener> listening_;
  BatchPtr waiting_;             // for room
  std::size_t bytes_ = 0;        // that it needs
  std::size_t fetch_bytes_ = 0;  // how much of that is for what comes from afar
  std::deque<Coming> coming_;
};

}  // namespace penstock::data

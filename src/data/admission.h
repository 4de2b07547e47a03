// Admission: opens batches, in order, as the budget allows. The step function of a loader's source.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "data/loader.h"

namespace penstock::data {

class Admission {
 public:
  Admission(PlanPtr plan, const RunOptions& options);
  Step operator()(Context& ctx);

 private:
  BatchPtr open();
  void advise(const Batch& batch) const;
  void order_reads(Batch& batch) const;
  void tell_ahead();

  PlanPtr plan_;
  RunOptions options_;
  Rounds rounds_;
  std::optional<std::uint64_t> batches_;
  std::size_t slot_bytes_ = 0;  // per row
  bool in_blocks_ = false;      // does a source read several records together?
  std::uint64_t ahead_ = 0;     // rows that sources want to know before they are read
  std::uint64_t next_ = 0;
  std::uint64_t told_ = 0;  // batches whose rows the sources know
  bool heard_ = false;
  std::shared_ptr<RoomListener> listening_;
  BatchPtr waiting_;       // for room
  std::size_t bytes_ = 0;  // that it needs
};

}  // namespace penstock::data

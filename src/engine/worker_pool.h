// The shared part of a WorkerPool: which engines it serves and who is asleep. Engines keep it
// alive, so that a late wake-up finds it; the threads themselves belong to the WorkerPool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "engine/parking.h"
#include "penstock/worker_pool.h"

namespace penstock::engine {

class Engine;

unsigned usable_cores() noexcept;  // by this process

class PoolState final : public Lane {
 public:
  explicit PoolState(unsigned threads) : threads_(threads), numbers_(threads) {}

  unsigned threads() const noexcept { return threads_; }
  bool idle() const noexcept override { return parking_.idle(); }
  void wake() noexcept override { parking_.wake_one(); }

  // How long its threads could have run but had no core, since they were made. Reads files.
  std::int64_t delay_ns() const noexcept;

  void attach(std::shared_ptr<Engine> engine);
  void detach(const Engine& engine);

  void run(unsigned worker);  // a thread's life
  void end();                 // makes all run() return

 private:
  const unsigned threads_;
  std::vector<std::atomic<int>> numbers_;  // by which the system knows them
  Parking parking_;
  std::atomic<bool> ending_{false};
  std::atomic<std::uint64_t> version_{0};  // of the list
  Mutex lock_;
  std::vector<std::shared_ptr<Engine>> engines_;
};

}  // namespace penstock::engine

#include "engine/worker_pool.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "engine/engine.h"
#include "engine/fork.h"
#include "engine/thread_delay.h"

namespace penstock {

namespace engine {

unsigned usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

namespace {
constexpr std::int64_t kSpinNs = 10'000;  // before an idle worker sleeps
}

void PoolState::attach(std::shared_ptr<Engine> engine) {
  std::lock_guard hold(lock_);
  engines_.push_back(std::move(engine));
  version_.fetch_add(1);
}

void PoolState::detach(const Engine& engine) {
  std::shared_ptr<Engine> gone;  // released after the lock
  {
    std::lock_guard hold(lock_);
    const auto at = std::find_if(engines_.begin(), engines_.end(),
                                 [&](const auto& one) { return one.get() == &engine; });
    if (at == engines_.end()) return;
    gone = std::move(*at);
    engines_.erase(at);
    version_.fetch_add(1);
  }
}

std::int64_t PoolState::delay_ns() const noexcept {
  std::int64_t ns = 0;
  for (const auto& number : numbers_) {
    if (number != 0) ns += thread_delay_ns(number);
  }
  return ns;
}

void PoolState::run(unsigned worker) {
  numbers_[worker] = gettid();
  Claim claim;
  Parking::Place place;
  std::vector<std::shared_ptr<Engine>> engines;  // a copy, so that a turn takes no lock
  std::uint64_t version = ~std::uint64_t{0};
  std::size_t turn = 0;
  const auto look_around = [&] {
    if (version != version_.load()) {
      std::lock_guard hold(lock_);
      engines = engines_;
      version = version_.load();
    }
    bool worked = false;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      worked |= engines[(turn + i) % engines.size()]->work(claim, worker);
    }
    ++turn;
    return worked;
  };
  while (!ending_.load()) {
    if (look_around()) continue;
    parking_.declare(place);
    if (ending_.load() || look_around()) {
      parking_.retract(place);
    } else {
      // A sleeping worker must not keep a finished pipeline alive.
      engines.clear();
      version = ~std::uint64_t{0};
      parking_.park(place, kSpinNs);
    }
  }
}

void PoolState::end() {
  ending_.store(true);
  while (parking_.idle()) parking_.wake_one();
}

}  // namespace engine

struct WorkerPool::Threads {
  std::vector<std::thread> list;
};

WorkerPool::WorkerPool(unsigned threads)
    : WorkerPool(Exactly{threads == 0 ? engine::usable_cores() : threads}) {}

std::shared_ptr<WorkerPool> WorkerPool::none() {
  return std::shared_ptr<WorkerPool>(new WorkerPool(Exactly{0}));
}

WorkerPool::WorkerPool(Exactly count)
    : state_(std::make_shared<engine::PoolState>(count.threads)),
      threads_(std::make_unique<Threads>()),
      process_(engine::process_number()) {
  for (unsigned i = 0; i < state_->threads(); ++i) {
    try {
      threads_->list.emplace_back([state = state_, i] { state->run(i); });
    } catch (...) {  // the system has no thread left: end those that were made
      end();
      throw;
    }
    const std::string name = "penstock-" + std::to_string(i);
    pthread_setname_np(threads_->list.back().native_handle(), name.c_str());
  }
}

WorkerPool::~WorkerPool() {
  if (process_ != engine::process_number()) {
    // In a forked child the threads do not exist: there is nothing to join.
    (void)threads_.release();
    return;
  }
  end();
}

void WorkerPool::end() {
  state_->end();
  for (std::thread& thread : threads_->list) thread.join();
}

unsigned WorkerPool::threads() const noexcept {
  return state_->threads();
}
bool WorkerPool::idle() const noexcept {
  return state_->idle();
}
void WorkerPool::wake() noexcept {
  state_->wake();
}

}  // namespace penstock

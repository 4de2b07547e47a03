// Lane and WorkerPool: the threads that carry out a pipeline's tasks.
//
// A lane is a place where tasks run. The engine only tells it that there may be something to
// claim; the lane's own threads then claim and finish tasks. WorkerPool is the lane for native
// steps. Anything else that runs tasks (an event loop, callers of another language) is a Lane of
// its own whose threads use Pipeline::claim.
//
// Thread safety: all members may be called from any thread. The pool's destructor must not run on
// one of its own threads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

namespace penstock {

class Lane {
 public:
  virtual ~Lane() = default;

  // True when a call of wake() would bring somebody. Called often: must be cheap.
  virtual bool idle() const noexcept = 0;

  // How many tasks of stages other than sources may run here at once, over all stages.
  virtual int task_limit() const noexcept { return std::numeric_limits<int>::max(); }

  // True when its threads exclude one another while they work on short tasks, so that waking a
  // second one for these gains nothing.
  virtual bool exclusive() const noexcept { return false; }

  // There may be a task to claim. Called without any engine lock; must not block.
  virtual void wake() noexcept = 0;
};

namespace engine {
class PoolState;
}  // namespace engine

// A fixed set of threads, shared by any number of pipelines, which take turns. The threads end
// with the last handle to the pool; pipelines that still use it must be stopped before.
class WorkerPool final : public Lane {
 public:
  // At least one thread; 0 means one per core this process may use. Throws std::system_error if
  // the system has no thread left.
  explicit WorkerPool(unsigned threads = 0);
  // For pipelines whose stages all run elsewhere: no thread at all.
  static std::shared_ptr<WorkerPool> none();
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned threads() const noexcept;
  bool idle() const noexcept override;
  void wake() noexcept override;

 private:
  friend class PipelineBuilder;
  struct Threads;
  struct Exactly {
    unsigned threads;
  };
  explicit WorkerPool(Exactly count);
  void end();
  std::shared_ptr<engine::PoolState> state_;
  std::unique_ptr<Threads> threads_;
  std::uint64_t process_;
};

}  // namespace penstock

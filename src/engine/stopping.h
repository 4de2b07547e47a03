// For what waits long inside of a task: is the pipeline that the task belongs to being stopped?
// Then nobody will have the result, and stop() waits for the task to return.
//
// Thread safety: any thread; the answer is about the calling one.
#pragma once

#include <atomic>

namespace penstock::engine {

// False in a thread that carries out no task.
bool task_is_stopping() noexcept;

// While it lives, this thread carries out a task of the pipeline with this flag.
class InTask {
 public:
  explicit InTask(const std::atomic<bool>& stopping) noexcept;
  ~InTask();
  InTask(const InTask&) = delete;
  InTask& operator=(const InTask&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

}  // namespace penstock::engine

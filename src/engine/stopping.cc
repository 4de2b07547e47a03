#include "engine/stopping.h"

namespace penstock::engine {
namespace {

thread_local const std::atomic<bool>* current = nullptr;

}  // namespace

bool task_is_stopping() noexcept {
  return current != nullptr && current->load(std::memory_order_relaxed);
}

InTask::InTask(const std::atomic<bool>& stopping) noexcept : outer_(current) {
  current = &stopping;
}

InTask::~InTask() {
  current = outer_;
}

}  // namespace penstock::engine

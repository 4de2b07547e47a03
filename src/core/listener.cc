// Calling a room listener, and ending it safely while other threads may be calling it.
#include "core/pool_state.h"

namespace penstock::detail {
namespace {

// The callbacks this thread is inside of, innermost first: a callback that ends its own listener
// must not wait for itself.
struct Frame {
  const Listener* listener;
  const Frame* outer;
};
thread_local const Frame* innermost = nullptr;

std::uint32_t depth_of(const Listener* listener) noexcept {
  std::uint32_t depth = 0;
  for (const Frame* frame = innermost; frame != nullptr; frame = frame->outer) {
    depth += frame->listener == listener ? 1 : 0;
  }
  return depth;
}

}  // namespace

void Listener::call() noexcept {
  if ((state_.fetch_add(2, std::memory_order_acquire) & 1) == 0) {
    const Frame frame{this, innermost};
    innermost = &frame;
    callback();
    innermost = frame.outer;
  }
  if ((state_.fetch_sub(2, std::memory_order_release) & 1) != 0) state_.notify_all();
}

void Listener::close() noexcept {
  const std::uint32_t own = depth_of(this);
  std::uint32_t seen = state_.fetch_or(1, std::memory_order_acquire) | 1;
  while (seen >> 1 > own) {
    state_.wait(seen, std::memory_order_acquire);
    seen = state_.load(std::memory_order_acquire);
  }
}

}  // namespace penstock::detail

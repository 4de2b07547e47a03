#include "core/together.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "core/process.h"

namespace penstock::detail {
namespace {

constexpr std::chrono::seconds kIdle{2};  // then a helper ends

// A call under way, on the stack of the thread that made it.
struct Call {
  void (*call)(const void*);
  const void* work;
  std::size_t helpers = 0;  // still at it
  std::condition_variable done;
};

// A helper, on its own stack. Idle ones are in a list.
struct Helper {
  Call* call = nullptr;  // null: idle
  Helper* next = nullptr;
  std::condition_variable called;
};

// The helpers of a process.
class Helpers {
 public:
  // Of this process. Never destroyed: helpers may outlive main().
  static Helpers& here() {
    static std::atomic<Helpers*> current{nullptr};
    Helpers* one = current.load(std::memory_order_acquire);
    while (one == nullptr || one->process_ != process_number()) {
      auto* made = new Helpers;  // a parent's has no threads here, and its lock may be taken
      if (current.compare_exchange_strong(one, made, std::memory_order_acq_rel)) return *made;
      delete made;
    }
    return *one;
  }

  void run(std::size_t helpers, Call& call) {
    {
      const std::lock_guard hold(lock_);
      while (call.helpers < helpers && (ask_idle(call) || start(call))) ++call.helpers;
    }
    call.call(call.work);
    std::unique_lock hold(lock_);
    call.done.wait(hold, [&] { return call.helpers == 0; });
  }

 private:
  bool ask_idle(Call& call) {
    if (idle_ == nullptr) return false;
    Helper& helper = *idle_;
    idle_ = helper.next;
    helper.call = &call;
    helper.called.notify_one();
    return true;
  }

  bool start(Call& call) {
    try {
      std::thread([this, &call] { live(call); }).detach();
      return true;
    } catch (const std::exception&) {
      return false;  // no thread left, or no memory for one
    }
  }

  void live(Call& first) {
    pthread_setname_np(pthread_self(), "penstock-help");
    Helper self;
    self.call = &first;
    std::unique_lock hold(lock_);
    while (self.call != nullptr) {
      Call& call = *self.call;
      hold.unlock();
      call.call(call.work);
      hold.lock();
      if (--call.helpers == 0) call.done.notify_one();
      self.call = nullptr;
      self.next = idle_;
      idle_ = &self;
      // By the system's clock, which ThreadSanitizer knows; if it is set, helpers end sooner or
      // later than they would.
      const auto end = std::chrono::system_clock::now() + kIdle;
      if (!self.called.wait_until(hold, end, [&] { return self.call != nullptr; })) forget(self);
    }
  }

  void forget(const Helper& gone) {
    Helper** at = &idle_;
    while (*at != &gone) at = &(*at)->next;
    *at = gone.next;
  }

  const std::uint64_t process_ = process_number();
  std::mutex lock_;
  Helper* idle_ = nullptr;  // the one that came last first: its memory is warm
};

}  // namespace

void call_together(std::size_t helpers, void (*call)(const void*), const void* work) noexcept {
  if (helpers == 0) return call(work);
  Call one{.call = call, .work = work, .helpers = 0, .done = {}};
  Helpers::here().run(helpers, one);
}

}  // namespace penstock::detail

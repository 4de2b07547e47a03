#include "storage/fault_guard.h"

#include <csetjmp>
#include <csignal>
#include <mutex>

namespace penstock::storage {
namespace {

// Where this thread goes on after a fault, if it is prepared for one. Of a kind that a handler may
// look at: it is there from the thread's beginning.
__attribute__((tls_model("initial-exec"))) thread_local sigjmp_buf* way_out = nullptr;

struct sigaction before;

void on_fault(int number, siginfo_t* info, void* context) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    struct sigaction end = {};
    end.sa_handler = SIG_DFL;
    ::sigaction(number, &end, nullptr);
    ::raise(number);
  }
}

void set_handler(struct sigaction* old) {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  // Not blocked while it runs: then nothing is to be undone on the way out.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, old);
}

// Frameworks that put back all signals as they think they were (Lightning does) take it away.
// Somebody else's handler stays: it passes on to ours what it does not know.
void keep_handler() {
  static std::once_flag once;
  std::call_once(once, set_handler, &before);
  struct sigaction now = {};
  ::sigaction(SIGBUS, nullptr, &now);
  const bool any =
      (now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  if (!any) set_handler(nullptr);
}

}  // namespace

bool survives(void (*work)(void*), void* with) noexcept {
  keep_handler();
  sigjmp_buf here;
  sigjmp_buf* volatile outer = way_out;
  if (sigsetjmp(here, 0) != 0) {
    way_out = outer;
    return false;
  }
  way_out = &here;
  work(with);
  way_out = outer;
  return true;
}

}  // namespace penstock::storage

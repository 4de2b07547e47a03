#include "storage/fault_guard.h"

#include <pthread.h>

#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <mutex>

namespace penstock::storage {
namespace {

// Where this thread goes on after a fault, if it is prepared for one. A handler may look at a key's
// value, which takes no memory then. (It may not look at a thread_local of a module that was loaded
// late, unless all that the module has of these is in a place of which a process has little.)
const pthread_key_t way_out = [] {
  pthread_key_t key;
  if (::pthread_key_create(&key, nullptr) != 0) std::abort();  // a process has 1024 of them
  return key;
}();

sigjmp_buf* get_way_out() {
  return static_cast<sigjmp_buf*>(::pthread_getspecific(way_out));
}

struct sigaction before;

void on_fault(int number, siginfo_t* info, void* context) {
  if (sigjmp_buf* out = get_way_out(); out != nullptr) siglongjmp(*out, 1);
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
  sigjmp_buf* volatile outer = get_way_out();
  if (sigsetjmp(here, 0) != 0) {
    ::pthread_setspecific(way_out, outer);
    return false;
  }
  (void)::pthread_setspecific(way_out, &here);  // without memory for it there is no way out
  work(with);
  ::pthread_setspecific(way_out, outer);
  return true;
}

}  // namespace penstock::storage

#include "core/together.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace penstock {
namespace {

using namespace std::chrono_literals;

// Helpers of this process, alive.
std::size_t helpers_alive() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name(32, ' ');
    std::FILE* file = std::fopen((task.path() / "comm").c_str(), "r");
    if (file == nullptr) continue;  // it has just ended
    name.resize(std::fread(name.data(), 1, name.size(), file));
    std::fclose(file);
    count += name == "penstock-help\n" ? 1 : 0;
  }
  return count;
}

// The threads that took part, all at the same time.
std::set<pid_t> who(std::size_t helpers) {
  std::set<pid_t> seen;
  std::mutex lock;
  std::atomic<std::size_t> there = 0;
  detail::work_together(helpers, [&] {
    ++there;
    while (there <= helpers) std::this_thread::yield();
    const std::lock_guard hold(lock);
    seen.insert(::gettid());
  });
  return seen;
}

TEST(Together, all_take_part_at_the_same_time) {
  EXPECT_EQ(who(0), std::set<pid_t>{::gettid()});
  const std::set<pid_t> five = who(4);
  EXPECT_EQ(five.size(), 5u);
  EXPECT_TRUE(five.contains(::gettid()));
}

TEST(Together, helpers_are_kept_for_the_next_call) {
  bool same = false;
  for (int i = 0; i < 100 && !same; ++i) {
    const std::set<pid_t> first = who(3);
    std::this_thread::sleep_for(20ms);  // one that has just finished may not have lain down yet
    same = who(3) == first;
  }
  EXPECT_TRUE(same);
}

TEST(Together, helpers_that_nobody_asks_for_end) {
  ASSERT_EQ(who(6).size(), 7u);
  EXPECT_GE(helpers_alive(), 6u);
  for (int i = 0; i < 200 && helpers_alive() > 0; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(helpers_alive(), 0u);
  EXPECT_EQ(who(2).size(), 3u);
}

TEST(Together, calls_within_calls_and_of_many_threads_get_helpers_of_their_own) {
  std::atomic<int> calls = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        detail::work_together(2, [&] { detail::work_together(1, [&] { ++calls; }); });
      }
    });
  }
  callers.clear();
  EXPECT_EQ(calls, 4 * 50 * 3 * 2);
}

// TSan allows no threads in a forked child; ASan's own locks may be taken, for ever there, when a
// thread begins or ends beside the fork, as the busy one and idle helpers do here.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(Together, a_forked_child_has_helpers_of_its_own) {
  ASSERT_EQ(who(3).size(), 4u);
  std::atomic<bool> ends = false;
  std::jthread busy([&] {  // so that the fork finds the lock taken now and then
    while (!ends) detail::work_together(2, [] {});
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);  // a hang ends it
      ::_exit(who(3).size() == 4 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  ends = true;
}
#endif

}  // namespace
}  // namespace penstock

// Small sources and checks shared by the engine's tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/pipeline.h"

namespace penstock {

// 0, 1, ... n-1
inline auto count_to(int n) {
  return [i = 0, n]() mutable -> std::optional<int> {
    return i < n ? std::optional(i++) : std::nullopt;
  };
}

// 0, 1, 2, ... for ever
inline auto count_for_ever() {
  return [i = 0]() mutable -> std::optional<int> { return i++; };
}

inline Pipeline must_build(PipelineBuilder& builder, BuildOptions options = {.threads = 2}) {
  Result<Pipeline> built = builder.build(std::move(options));
  EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().to_string());
  return std::move(built).value();
}

inline Pipeline must_start(PipelineBuilder& builder, BuildOptions options = {.threads = 2}) {
  Pipeline pipeline = must_build(builder, std::move(options));
  EXPECT_TRUE(pipeline.start().ok());
  return pipeline;
}

// All items up to the end; the error, if that is how it ended.
template <class T>
std::pair<std::vector<T>, std::optional<Error>> drain(Pipeline& pipeline) {
  std::vector<T> items;
  for (;;) {
    Result<std::optional<T>> got = pipeline.next<T>();
    if (!got.ok()) return {std::move(items), got.error()};
    if (!*got) return {std::move(items), std::nullopt};
    items.push_back(std::move(**got));
  }
}

inline std::vector<int> sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values;
}

inline std::vector<int> iota(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = i;
  return values;
}

// Threads of ours; a sanitizer may have some of its own.
inline std::size_t thread_count() {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    n += name.starts_with("penstock-");
  }
  return n;
}

// Whether it comes true. A busy machine may take a while; the limit is for what never does.
template <class Condition>
bool wait_until(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A value that counts how many of its kind are alive.
class Counted {
 public:
  explicit Counted(int value) : value_(value) { alive++; }
  Counted(Counted&& other) noexcept : value_(other.value_) { alive++; }
  Counted& operator=(Counted&&) = default;
  ~Counted() { alive--; }
  int value() const { return value_; }

  static inline std::atomic<int> alive{0};

 private:
  int value_;
};

}  // namespace penstock

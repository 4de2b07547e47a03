#include "engine/stage.h"

namespace penstock::engine {

void Stage::record_tasks(std::int64_t nanoseconds, int tasks) noexcept {
  const std::int64_t each = nanoseconds / tasks;
  task_ns += nanoseconds;
  histogram.add(each, static_cast<std::uint64_t>(tasks));
  // A moving average over some sixteen tasks: long enough to be steady, short enough to follow.
  const double weight = std::min(1.0, static_cast<double>(tasks) / 16.0);
  mean_ns = mean_ns < 0 ? static_cast<double>(each)
                        : mean_ns + (static_cast<double>(each) - mean_ns) * weight;
}

double Stage::claimable_ns() const noexcept {
  if (!quick() || !open.empty() || !ready.empty()) return 1e9;  // not quick, or not known
  const int tasks = in == nullptr ? room() : std::min(room(), in->size());
  return mean_ns * tasks;
}

Condition Stage::judge() const noexcept {
  if (!has_token()) return Condition::busy;
  if (room() <= 0 || barriers > 0) return Condition::blocked;
  if (in != nullptr && in->empty()) return Condition::waiting;
  return Condition::ready;
}

void Stage::touch(std::int64_t now) noexcept {
  condition_ns[static_cast<std::size_t>(condition)] += now - since;
  since = now;
  condition = judge();
}

}  // namespace penstock::engine

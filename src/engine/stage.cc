#include "engine/stage.h"

namespace penstock::engine {

void Stage::record_tasks(std::int64_t nanoseconds, int tasks) noexcept {
  const std::int64_t each = nanoseconds / tasks;
  task_ns += nanoseconds;
  histogram.add(each, static_cast<std::uint64_t>(tasks));
  const double now = static_cast<double>(each);
  // A moving average over some sixteen tasks: long enough to be steady, short enough to follow.
  if (mean_ns < 0) mean_ns = now;
  mean_ns += (now - mean_ns) * std::min(1.0, tasks / 16.0);
  // And one over some hundreds, in which a single long task (the first, say) does not count for
  // more than one that is just not fast.
  const double bounded = std::min(now, std::max(8 * steady_ns, kFastNs * concurrency));
  if (steady_ns < 0) steady_ns = bounded;
  steady_ns += (bounded - steady_ns) * std::min(1.0, tasks / 256.0);
}

double Stage::claimable_ns() const noexcept {
  if (!quick() || !open.empty() || !ready.empty()) return 1e9;  // not quick, or not known
  const int tasks = in == nullptr ? room() : std::min(room(), in->size());
  return mean_ns * tasks;
}

Condition Stage::judge() const noexcept {
  if (running + parked >= concurrency) return Condition::busy;
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

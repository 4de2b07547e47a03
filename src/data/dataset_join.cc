// The words of a Dataset that look at more than one: joins; and those that look at its samples
// while the plan is made: early filters and caches.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "core/together.h"
#include "data/cache.h"
#include "data/dataset_change.h"
#include "data/dataset_steps.h"

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

// Positions that a thread looks at in one go: whole words of the bitmap.
constexpr std::uint64_t kAtOnce = 1024;

}  // namespace

Result<std::vector<data::Order>> Dataset::Plan::join(std::span<const Plan* const> parts,
                                                     bool may_share, const char* word) {
  const bool alike = may_share && std::all_of(parts.begin(), parts.end(), [&](const Plan* part) {
                       return part->work == parts[0]->work;
                     });
  std::vector<data::Order> orders;
  Plan all;
  for (const Plan* part : parts) {
    if (part->error) return *part->error;
    if (!alike && has_filter(part->work)) {
      return bad(std::string(word) + ": put a late filter() after " + word + "()");
    }
    Plan own = *part;
    if (!alike) own.own_work();
    if (all.world != 0 && own.world != 0 && (all.rank != own.rank || all.world != own.world)) {
      return bad(std::string(word) + ": the parts have different ranks; shard() once");
    }
    if (own.world != 0) all.rank = own.rank, all.world = own.world;
    orders.push_back(own.order->renumbered(static_cast<std::uint32_t>(all.leaves.size())));
    all.leaves.insert(all.leaves.end(), own.leaves.begin(), own.leaves.end());
    all.work = std::move(own.work);
  }
  *this = std::move(all);
  return orders;
}

Dataset Dataset::concat(const Dataset& other) const {
  return with([&](Plan& plan) -> Status {
    auto orders = plan.join(std::vector{plan_.get(), other.plan_.get()}, true, "concat");
    if (!orders) return std::move(orders).error();
    return plan.set(data::Order::concat(*orders));
  });
}

Dataset Dataset::zip(const Dataset& other) const {
  return with([&](Plan& plan) -> Status {
    auto orders = plan.join(std::vector{plan_.get(), other.plan_.get()}, false, "zip");
    if (!orders) return std::move(orders).error();
    const std::vector<std::string> theirs = other.plan_->fields_after();
    for (const std::string& name : plan_->fields_after()) {
      if (std::find(theirs.begin(), theirs.end(), name) != theirs.end()) {
        return bad("zip: both have a field '" + name + "'; rename it in one of them");
      }
    }
    return plan.set(data::Order::zip(*orders));
  });
}

Dataset Dataset::mix(const std::vector<Dataset>& parts, std::vector<double> weights,
                     std::uint64_t seed, bool endless) {
  return Dataset(std::make_shared<const Plan>()).with([&](Plan& plan) -> Status {
    if (parts.empty()) return bad("mix: there is nothing to mix");
    std::vector<const Plan*> plans;
    for (const Dataset& part : parts) plans.push_back(part.plan_.get());
    auto orders = plan.join(plans, true, "mix");
    if (!orders) return std::move(orders).error();
    if (weights.empty()) weights.assign(parts.size(), 1.0);
    return plan.set(data::Order::mix(*orders, weights, seed, endless));
  });
}

Dataset Dataset::filter(std::function<bool(const Sample&)> keep) const {
  return with([&](Plan& plan) -> Status {
    bool late = Plan::has_row_work(plan.work);
    for (const Plan::Leaf& leaf : plan.leaves) {  // of parts that were joined
      for (const Plan::Work& one : leaf.own)
        late = late || std::holds_alternative<Plan::Image>(one);
    }
    if (late) {
      plan.work.emplace_back(Plan::Keep{std::move(keep)});
      return {};
    }
    if (plan.base->shuffled()) {
      return bad("filter: sample() draws anew in each epoch; filter before it");
    }
    if (!plan.base->length()) return bad("filter: the dataset is endless; filter before repeat()");
    Result<std::shared_ptr<const data::Bitmap>> left = plan.look(keep);
    if (!left) return std::move(left).error();
    Result<data::Order> made = plan.base->subset(*std::move(left));
    if (!made) return std::move(made).error();
    plan.base = *std::move(made);
    plan.untouched = false;
    return plan.reorder();
  });
}

Result<std::shared_ptr<const data::Bitmap>> Dataset::Plan::look(
    const std::function<bool(const Sample&)>& keep) const {
  Plan below = *this;
  below.order = base;
  data::CollateOptions collate;
  Result<data::PlanPtr> plan = below.loader_plan({}, collate);
  if (!plan) return std::move(plan).error();
  const std::uint64_t size = *base->length();
  std::vector<std::uint64_t> words((size + 63) / 64);
  std::atomic<std::uint64_t> next = 0;
  std::mutex lock;
  std::optional<Error> failure;

  const auto work = [&] {
    BufferPool pool;
    for (std::uint64_t first; (first = next.fetch_add(kAtOnce)) < size;) {
      for (std::uint64_t i = first; i < std::min(first + kAtOnce, size); ++i) {
        const Result<std::optional<data::Row>> row = data::run_row(**plan, 0, i, pool);
        Result<bool> kept = row.ok() && *row ? ask(keep, **row) : Result<bool>(true);
        if (!kept) {
          const std::lock_guard hold(lock);
          if (!failure) failure = std::move(kept).error();
          next = size;
          return;
        }
        if (*kept) words[i / 64] |= std::uint64_t{1} << (i % 64);
      }
    }
  };
  const std::uint64_t parts = (size + kAtOnce - 1) / kAtOnce;
  const auto threads = std::min<std::uint64_t>(parts, std::thread::hardware_concurrency());
  detail::work_together(std::max<std::uint64_t>(threads, 1) - 1, work);
  if (failure) return *std::move(failure);
  return std::shared_ptr<const data::Bitmap>(
      std::make_shared<data::Bitmap>(std::move(words), size));
}

Dataset Dataset::cache(std::uint64_t memory) const {
  return with([&](Plan& plan) -> Status {
    if (!plan.work.empty() && plan.order->width() > 1) {
      return bad("cache: put it before zip(), in each part; work on rows may follow zip()");
    }
    plan.own_work();
    const auto bytes = [](const Plan::Leaf& leaf) {
      return std::max(1.0, double(leaf.source->size()) * double(leaf.source->mean_bytes()));
    };
    double total = 0;
    for (const Plan::Leaf& leaf : plan.leaves) total += bytes(leaf);
    for (Plan::Leaf& leaf : plan.leaves) {
      std::vector<data::StepPtr> steps;
      data::LoaderPlan unused{*plan.order, {}, {}, {}, {}};
      data::CollateOptions collate;
      const LoaderOptions options;
      Plan::StepMaker maker(options, unused, collate);
      for (const Plan::Work& one : leaf.own) {
        const auto* image = std::get_if<Plan::Image>(&one);
        if (image != nullptr && image->random()) {
          return bad(
              "cache: a random crop or flip would be the same in each epoch; put it after cache(), "
              "which then keeps the files' bytes");
        }
        if (std::holds_alternative<Plan::Keep>(one)) {
          return bad("cache: put a late filter() after cache()");
        }
        Result<data::StepPtr> step = maker.make(one, "", false);
        if (!step) return std::move(step).error();
        steps.push_back(*std::move(step));
      }
      const double share = double(memory) * (bytes(leaf) / total);
      leaf.source = std::make_shared<data::CachedSource>(
          leaf.source, std::move(steps), std::max<std::uint64_t>(1, std::uint64_t(share)));
      leaf.kept.insert(leaf.kept.end(), leaf.own.begin(), leaf.own.end());
      leaf.own.clear();
    }
    return {};
  });
}

}  // namespace penstock

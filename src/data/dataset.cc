// The public Dataset: steps are remembered, and put together when a loader is asked for.
#include "penstock/dataset.h"

#include <algorithm>
#include <cmath>

#include "data/dataset_change.h"
#include "formats/open.h"

namespace penstock {
namespace {

using data::Order;

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

Dataset Dataset::open(const std::vector<std::string>& names, const OpenFilesOptions& options) {
  formats::OpenOptions open;
  open.fields = options.fields;
  open.checksums = options.checksums;
  open.mmap = options.mmap;
  open.max_member = options.max_member;
  return Dataset(std::make_shared<const Plan>()).with([&](Plan& plan) -> Status {
    Result<std::shared_ptr<const formats::Records>> records = formats::open_records(names, open);
    if (!records) return std::move(records).error();
    plan.leaves.push_back({data::source_of(*std::move(records)), {}, {}});
    return plan.set(Order::leaf(0, plan.leaves[0].source->size()));
  });
}

Dataset Dataset::of_arrays(std::vector<std::pair<std::string, Tensor>> arrays) {
  return Dataset(std::make_shared<const Plan>()).with([&](Plan& plan) -> Status {
    Result<data::SourcePtr> source = data::source_of_arrays(std::move(arrays));
    if (!source) return std::move(source).error();
    plan.leaves.push_back({*std::move(source), {}, {}});
    return plan.set(Order::leaf(0, plan.leaves[0].source->size()));
  });
}

Dataset Dataset::shuffle(std::uint64_t seed) const {
  return with([&](Plan& plan) {
    return plan.put_on_top(
        [seed](const Order& order, std::uint64_t) { return order.shuffle(seed); });
  });
}
Dataset Dataset::shuffle(std::uint64_t seed, std::uint64_t window) const {
  return with([&](Plan& plan) {
    return plan.put_on_top([=](const Order& order, std::uint64_t block) {
      return order.shuffle_windows(seed, window, std::min(block, window));
    });
  });
}
Dataset Dataset::take(std::uint64_t n) const {
  return with([&](Plan& plan) { return plan.set(plan.order->take(n)); });
}
Dataset Dataset::skip(std::uint64_t n) const {
  return with([&](Plan& plan) { return plan.set(plan.order->skip(n)); });
}
Dataset Dataset::repeat(std::optional<std::uint64_t> n) const {
  return with([&](Plan& plan) {
    return plan.put_on_top([n](const Order& order, std::uint64_t) { return order.repeat(n); });
  });
}
Dataset Dataset::sample(std::vector<double> weights, std::optional<std::uint64_t> n,
                        std::uint64_t seed) const {
  return with([&](Plan& plan) -> Status {
    const std::optional<std::uint64_t> length = plan.order->length();
    if (!length) return bad("sample: the dataset is endless; sample before repeat()");
    return plan.set(plan.order->sample(std::move(weights), n.value_or(*length), seed));
  });
}

std::vector<Dataset> Dataset::split(const std::vector<double>& fractions,
                                    std::optional<std::uint64_t> seed) const {
  double sum = 0;
  bool positive = !fractions.empty();
  for (const double fraction : fractions) {
    positive = positive && fraction >= 0;
    sum += fraction;
  }
  Dataset whole = (seed ? shuffle(*seed) : *this).with([&](Plan& plan) -> Status {
    if (!positive || sum > 1 + 1e-9) {
      return bad("split: fractions must be positive and at most 1 together");
    }
    if (!plan.order->length()) return bad("split: the dataset is endless; split before repeat()");
    return {};
  });
  if (whole.plan_->error) return std::vector<Dataset>(fractions.size() + 1, whole);
  const auto n = static_cast<double>(*whole.plan_->order->length());
  std::vector<Dataset> parts;
  std::uint64_t start = 0;
  double share = 0;
  for (std::size_t i = 0; i <= fractions.size(); ++i) {
    share = std::min(1.0, share + (i < fractions.size() ? fractions[i] : 1.0));
    const auto stop = static_cast<std::uint64_t>(std::nearbyint(n * share));
    parts.push_back(start == 0 ? whole.take(stop) : whole.skip(start).take(stop - start));
    start = stop;
  }
  return parts;
}

Dataset Dataset::shard(std::uint64_t rank, std::uint64_t world) const {
  return with([&](Plan& plan) -> Status {
    if (plan.world != 0) return bad("shard: it is sharded already");
    if (rank >= world) return bad("shard: there is no such rank");
    plan.rank = rank, plan.world = world;
    return {};
  });
}

Dataset Dataset::select(std::vector<std::string> fields) const {
  return with([&](Plan& plan) -> Status {
    plan.work.emplace_back(Plan::Select{std::move(fields)});
    return {};
  });
}

Dataset Dataset::rename(std::string field, std::string name) const {
  return with([&](Plan& plan) -> Status {
    plan.work.emplace_back(Plan::Rename{std::move(field), std::move(name)});
    return {};
  });
}

Dataset Dataset::decode(std::string field, const std::string& kind) const {
  return with([&](Plan& plan) -> Status {
    if (kind == "json") {
      return Error(Code::unsupported, "decode: JSON stays bytes here; take the parser you like");
    }
    if (auto step = data::decode_step(field, kind); !step) return std::move(step).error();
    plan.work.emplace_back(Plan::Decode{std::move(field), kind});
    return {};
  });
}

Dataset Dataset::decode_image(std::string field, DecodeImageOptions options) const {
  return with([&](Plan& plan) -> Status {
    plan.work.emplace_back(Plan::Image{std::move(field), std::move(options)});
    return {};
  });
}

Status Dataset::status() const {
  return plan_->error ? Status(*plan_->error) : Status();
}

Result<std::optional<std::uint64_t>> Dataset::size() const {
  if (plan_->error) return *plan_->error;
  if (Plan::has_filter(plan_->work)) {
    return bad(
        "size: which samples a late filter leaves is only known when they are made; a filter "
        "before any decode is an early one");
  }
  return plan_->order->length();
}

Result<std::vector<std::string>> Dataset::fields() const {
  if (plan_->error) return *plan_->error;
  std::vector<std::string> all;
  for (const Plan::Leaf& leaf : plan_->leaves) {
    for (const std::string& field : leaf.source->fields()) {
      if (std::find(all.begin(), all.end(), field) == all.end()) all.push_back(field);
    }
  }
  return all;
}

}  // namespace penstock

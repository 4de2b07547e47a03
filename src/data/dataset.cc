// The public Dataset: steps are remembered, and put together when a loader is asked for.
#include "penstock/dataset.h"

#include <algorithm>

#include "data/dataset_plan.h"
#include "data/digest.h"
#include "formats/open.h"

namespace penstock {
namespace {

using data::Order;

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

template <class Change>
Dataset Dataset::with(Change change) const {
  auto plan = std::make_shared<Plan>(*plan_);
  if (!plan->error) {
    if (Status status = change(*plan); !status) plan->error = std::move(status).error();
  }
  return Dataset(std::move(plan));
}

Dataset Dataset::open(const std::vector<std::string>& names, const OpenFilesOptions& options) {
  formats::OpenOptions open;
  open.fields = options.fields;
  open.checksums = options.checksums;
  open.mmap = options.mmap;
  return Dataset(std::make_shared<const Plan>()).with([&](Plan& plan) -> Status {
    Result<std::shared_ptr<const formats::Records>> records = formats::open_records(names, open);
    if (!records) return std::move(records).error();
    plan.sources.push_back(data::source_of(*std::move(records)));
    plan.order = *Order::leaf(0, plan.sources[0]->size());
    return {};
  });
}

Dataset Dataset::of_arrays(std::vector<std::pair<std::string, Tensor>> arrays) {
  return Dataset(std::make_shared<const Plan>()).with([&](Plan& plan) -> Status {
    Result<data::SourcePtr> source = data::source_of_arrays(std::move(arrays));
    if (!source) return std::move(source).error();
    plan.sources.push_back(*std::move(source));
    plan.order = *Order::leaf(0, plan.sources[0]->size());
    return {};
  });
}

namespace {

Status set(std::optional<Order>& order, Result<Order> made) {
  if (!made) return std::move(made).error();
  order = *std::move(made);
  return {};
}

}  // namespace

Dataset Dataset::shuffle(std::uint64_t seed) const {
  return with([&](Plan& plan) { return set(plan.order, plan.order->shuffle(seed)); });
}
Dataset Dataset::shuffle(std::uint64_t seed, std::uint64_t window) const {
  return with(
      [&](Plan& plan) { return set(plan.order, plan.order->shuffle_windows(seed, window, 0)); });
}
Dataset Dataset::take(std::uint64_t n) const {
  return with([&](Plan& plan) { return set(plan.order, plan.order->take(n)); });
}
Dataset Dataset::skip(std::uint64_t n) const {
  return with([&](Plan& plan) { return set(plan.order, plan.order->skip(n)); });
}
Dataset Dataset::repeat(std::optional<std::uint64_t> n) const {
  return with([&](Plan& plan) { return set(plan.order, plan.order->repeat(n)); });
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
    plan.work.emplace_back(data::select_step(std::move(fields)));
    return {};
  });
}

Dataset Dataset::rename(std::string field, std::string name) const {
  return with([&](Plan& plan) -> Status {
    plan.work.emplace_back(data::rename_step({{std::move(field), std::move(name)}}));
    return {};
  });
}

Dataset Dataset::decode(std::string field, const std::string& kind) const {
  return with([&](Plan& plan) -> Status {
    if (kind == "json") {
      return Error(Code::unsupported, "decode: JSON stays bytes here; take the parser you like");
    }
    Result<data::StepPtr> step = data::decode_step(std::move(field), kind);
    if (!step) return std::move(step).error();
    plan.work.emplace_back(*std::move(step));
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
  return plan_->order->length();
}

Result<std::vector<std::string>> Dataset::fields() const {
  if (plan_->error) return *plan_->error;
  std::vector<std::string> all;
  for (const data::SourcePtr& source : plan_->sources) {
    for (const std::string& field : source->fields()) {
      if (std::find(all.begin(), all.end(), field) == all.end()) all.push_back(field);
    }
  }
  return all;
}

std::uint64_t Dataset::Plan::digest() const {
  data::Digest all;
  for (const data::SourcePtr& source : sources) all.add(source->digest());
  return all.value();
}

}  // namespace penstock

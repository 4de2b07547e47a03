// From the work that a Dataset was asked for to the steps that a loader runs.
#include "data/dataset_plan.h"

#include <algorithm>
#include <utility>

#include "data/dataset_steps.h"
#include "data/digest.h"

namespace penstock {

std::uint64_t Dataset::Plan::digest() const {
  data::Digest all;
  for (const Leaf& leaf : leaves) all.add(leaf.source->digest());
  return all.value();
}

Status Dataset::Plan::set(Result<data::Order> made) {
  if (!made) return std::move(made).error();
  untouched = !base;
  base = order = *std::move(made);
  on_top.clear();
  return {};
}

Status Dataset::Plan::put_on_top(Reorder change) {
  on_top.push_back(std::move(change));
  return reorder();
}

Status Dataset::Plan::reorder() {
  order = base;
  std::uint64_t block = untouched ? leaves[0].source->block() : 0;
  for (const Reorder& change : on_top) {
    Result<data::Order> made = change(*order, std::exchange(block, 0));
    if (!made) return std::move(made).error();
    order = *std::move(made);
  }
  return {};
}

bool Dataset::Plan::has_row_work(const Works& works) {
  return std::any_of(works.begin(), works.end(), [](const Work& one) {
    return !std::holds_alternative<Select>(one) && !std::holds_alternative<Rename>(one);
  });
}

bool Dataset::Plan::has_filter(const Works& works) {
  return std::any_of(works.begin(), works.end(),
                     [](const Work& one) { return std::holds_alternative<Keep>(one); });
}

std::string Dataset::Plan::name_after(std::span<const Work> works, std::string name) {
  if (name.empty()) return name;
  for (const Work& one : works) {
    if (const auto* select = std::get_if<Select>(&one)) {
      const auto& fields = select->fields;
      if (std::find(fields.begin(), fields.end(), name) == fields.end()) return {};
    }
    const auto* rename = std::get_if<Rename>(&one);
    if (rename != nullptr && rename->field == name) name = rename->name;
  }
  return name;
}

std::string Dataset::Plan::field_of(const Work& work) {
  const auto* image = std::get_if<Image>(&work);
  return image == nullptr ? std::string() : image->field;
}

std::vector<std::string> Dataset::Plan::fields_after() const {
  std::vector<std::string> all;
  for (const Leaf& leaf : leaves) {
    for (std::string name : leaf.source->fields()) {
      for (const Works* works : {&leaf.kept, &leaf.own, &work}) {
        name = name_after(*works, std::move(name));
      }
      if (!name.empty()) all.push_back(std::move(name));
    }
  }
  return all;
}

void Dataset::Plan::own_work() {
  for (Leaf& leaf : leaves) leaf.own.insert(leaf.own.end(), work.begin(), work.end());
  work.clear();
}

Result<data::PlanPtr> Dataset::Plan::loader_plan(const LoaderOptions& options,
                                                 data::CollateOptions& collate) const {
  auto plan =
      std::make_shared<data::LoaderPlan>(data::LoaderPlan{*order,
                                                          {},
                                                          {},
                                                          std::vector<data::Segment>(1),
                                                          {},
                                                          0,
                                                          1,
                                                          options.seed,
                                                          options.on_error == OnError::replace});
  StepMaker maker(options, *plan, collate);
  for (const Leaf& leaf : leaves) {
    plan->sources.push_back(leaf.source);
    std::vector<data::StepPtr>& steps = plan->own_steps.emplace_back();
    // What is kept is done already; only what its pictures become in the batch is noted.
    Works all = leaf.kept;
    all.insert(all.end(), leaf.own.begin(), leaf.own.end());
    const std::size_t done = leaf.kept.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::span<const Work> later = std::span(all).subspan(i + 1);
      const std::string final = name_after(work, name_after(later, field_of(all[i])));
      if (i < done) {
        if (Status status = maker.note(all[i], final); !status) return std::move(status).error();
        continue;
      }
      Result<data::StepPtr> step = maker.make(all[i], final, false);
      if (!step) return std::move(step).error();
      steps.push_back(*std::move(step));
    }
  }
  std::size_t last_filter = 0;  // one beyond it: until then a filter has to see the fields
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (std::holds_alternative<Keep>(work[i])) last_filter = i + 1;
  }
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (const auto* keep = std::get_if<Keep>(&work[i])) {
      maker.add_filter(keep->function);
      continue;
    }
    const std::string final = name_after(std::span(work).subspan(i + 1), field_of(work[i]));
    Result<data::StepPtr> step = maker.make(work[i], final, i >= last_filter);
    if (!step) return std::move(step).error();
    plan->segments.back().steps.push_back(*std::move(step));
  }
  plan->together = data::rows_together(*plan, maker.heavy());
  return data::PlanPtr(std::move(plan));
}

}  // namespace penstock

// How each word of a Dataset makes another one.
#pragma once

#include <memory>
#include <utility>

#include "data/dataset_plan.h"

namespace penstock {

// `change` is given a copy of the plan and answers with a Status. After an Error nothing is changed
// any more.
template <class Change>
Dataset Dataset::with(Change change) const {
  auto plan = std::make_shared<Plan>(*plan_);
  if (!plan->error) {
    if (Status status = change(*plan); !status) plan->error = std::move(status).error();
  }
  return Dataset(std::move(plan));
}

}  // namespace penstock

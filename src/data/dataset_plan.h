// What a public Dataset holds, and how a LoaderPlan is made of it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/collate.h"
#include "data/plan.h"
#include "data/ranks.h"
#include "penstock/dataset.h"

namespace penstock {

struct Dataset::Plan {
  struct Image {
    std::string field;
    DecodeImageOptions options;
  };
  using Work = std::variant<data::StepPtr, Image>;

  std::optional<Error> error;  // the first one
  std::optional<data::Order> order;
  std::vector<data::SourcePtr> sources;
  std::vector<Work> work;
  std::uint64_t rank = 0, world = 0;  // world 0: not sharded

  std::uint64_t digest() const;  // of the data
  Result<data::PlanPtr> loader_plan(const LoaderOptions& options,
                                    data::CollateOptions& collate) const;
};

}  // namespace penstock

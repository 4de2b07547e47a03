// What a public Dataset holds, and how a LoaderPlan is made of it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "data/collate.h"
#include "data/plan.h"
#include "data/ranks.h"
#include "penstock/dataset.h"

namespace penstock {

struct Dataset::Plan {
  // Work on samples, as it was asked for.
  struct Select {
    std::vector<std::string> fields;
    bool operator==(const Select&) const = default;
  };
  struct Rename {
    std::string field, name;
    bool operator==(const Rename&) const = default;
  };
  struct Decode {
    std::string field, kind;
    bool operator==(const Decode&) const = default;
  };
  struct Image {
    std::string field;
    DecodeImageOptions options;
    bool random() const { return options.random_crop || (options.flip > 0 && options.flip < 1); }
    bool operator==(const Image&) const = default;
  };
  struct Keep {  // a late filter
    std::function<bool(const Sample&)> function;
    bool operator==(const Keep&) const { return false; }
  };
  using Work = std::variant<Select, Rename, Decode, Image, Keep>;
  using Works = std::vector<Work>;

  struct Leaf {
    data::SourcePtr source;
    Works kept;  // done before the source keeps it in memory
    Works own;   // on the records of this leaf alone
  };

  std::optional<Error> error;  // the first one
  std::vector<Leaf> leaves;
  // The order is `base` with these on top of it. Shuffles and repeats stay apart because a filter
  // goes below them: it has a bit for each record, not for each position. `block` is that of the
  // source, for what stands directly on it; else 0.
  using Reorder = std::function<Result<data::Order>(const data::Order&, std::uint64_t block)>;
  std::optional<data::Order> base;
  std::vector<Reorder> on_top;
  bool untouched = true;  // `base` is that of a source
  std::optional<data::Order> order;
  Works work;
  std::uint64_t rank = 0, world = 0;  // world 0: not sharded

  std::uint64_t digest() const;          // of the data
  Status set(Result<data::Order> made);  // a new base
  Status put_on_top(Reorder reorder);
  Status reorder();  // base and what is on top give the order
  static bool has_row_work(const Works& works);
  static bool has_filter(const Works& works);
  static std::string field_of(const Work& work);  // that becomes a picture; else empty
  static std::string name_after(std::span<const Work> works, std::string name);  // empty: gone
  std::vector<std::string> fields_after() const;
  // Becomes all parts side by side, and gives their orders, renumbered. `may_share`: work that all
  // have alike is left for the whole.
  Result<std::vector<data::Order>> join(std::span<const Plan* const> parts, bool may_share,
                                        const char* word);
  // An early filter: one bit for each position of `base`.
  Result<std::shared_ptr<const data::Bitmap>> look(
      const std::function<bool(const Sample&)>& keep) const;
  void own_work();  // gives the work to the leaves

  // What a user's function says, with what it throws as an Error.
  static Result<bool> ask(const std::function<bool(const Sample&)>& keep, const data::Row& row);

  class StepMaker;
  Result<data::PlanPtr> loader_plan(const LoaderOptions& options,
                                    data::CollateOptions& collate) const;
};

}  // namespace penstock

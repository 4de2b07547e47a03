// Makes the steps of a LoaderPlan from the work that a Dataset was asked for, one after the other.
#pragma once

#include <string>

#include "data/dataset_plan.h"

namespace penstock {

class Dataset::Plan::StepMaker {
 public:
  // `plan` and `collate` receive what steps need beside themselves: slots, and how pictures that
  // reach the batch as arrays are to lie in it.
  StepMaker(const LoaderOptions& options, data::LoaderPlan& plan, data::CollateOptions& collate)
      : options_(options), plan_(plan), collate_(collate) {}

  // `final`: what the work's field is called in the batch; empty: it does not get there.
  // `placed`: it may go straight into its slot; else somebody looks at it before.
  Result<data::StepPtr> make(const Work& work, const std::string& final, bool placed);
  // The same for work that is done elsewhere.
  Status note(const Work& work, const std::string& final);
  void add_filter(const std::function<bool(const Sample&)>& keep);
  bool heavy() const noexcept { return heavy_; }  // is there a picture to decode?

 private:
  Result<data::StepPtr> make_image(const Image& image, const std::string& final, bool placed);

  const LoaderOptions& options_;
  data::LoaderPlan& plan_;
  data::CollateOptions& collate_;
  std::uint32_t ordinal_ = 0;  // counts random operations
  bool heavy_ = false;
};

}  // namespace penstock

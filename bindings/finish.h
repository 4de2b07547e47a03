// How images lie in a batch, as Python gives it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "borrowed.h"
#include "errors.h"
#include "transform/finish.h"

namespace penstock::bindings {

// channels, layout, dtype, mean, std
using Finish = std::tuple<int, std::string, std::string, std::vector<double>, std::vector<double>>;

// Its size is to be filled in.
inline FinishSpec finish_of(const Finish& finish) {
  const auto& [channels, layout, dtype, mean, std] = finish;
  static const std::map<std::string_view, ImageLayout> layouts = {{"NHWC", ImageLayout::hwc},
                                                                  {"NCHW", ImageLayout::chw}};
  FinishSpec spec;
  spec.height = spec.width = 1;
  spec.channels = channels;
  spec.layout = named(layouts, layout, "layout");
  spec.type = must(dtype_named(dtype));
  must(check(spec));
  if (!mean.empty() || !std.empty()) must(normalise(spec, mean, std));
  return spec;
}

}  // namespace penstock::bindings

// The fields of Examples as Python gives them: (name, "float[4]") pairs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "formats/tfrecord/schema.h"

namespace penstock::bindings {

using Specs = std::vector<std::pair<std::string, std::string>>;

inline std::vector<formats::tfrecord::FeatureSpec> specs_of(const Specs& specs) {
  std::vector<formats::tfrecord::FeatureSpec> all;
  for (const auto& [name, text] : specs) {
    all.push_back(must(formats::tfrecord::parse_spec(name, text)));
  }
  return all;
}

}  // namespace penstock::bindings

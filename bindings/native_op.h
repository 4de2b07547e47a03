// An op that pipelines run on native workers: a step function in a Python object. Other files of
// bindings/ make them; penstock.pipeline recognises them by their type.
#pragma once

#include <string>

#include "penstock/stage.h"

namespace penstock::bindings {

struct NativeOp {
  std::string name;
  StepFunction step;
};

}  // namespace penstock::bindings

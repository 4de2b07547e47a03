// The engine behind a Pipeline, for language bindings whose lanes work with it directly.
#pragma once

#include <memory>

#include "penstock/pipeline.h"

namespace penstock::engine {

struct Access {
  static const std::shared_ptr<Engine>& engine_of(const Pipeline& pipeline) {
    return pipeline.engine_;
  }
};

}  // namespace penstock::engine

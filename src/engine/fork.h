// What happens to pipelines in a forked process: threads do not survive fork(), so a pipeline
// refuses to work, or to wait, in a child.
#pragma once

#include "core/process.h"
#include "penstock/error.h"

namespace penstock::engine {

using detail::process_number;

// What a child is told that uses a pipeline of its parent.
Error forked();

}  // namespace penstock::engine

// A source that keeps what was read of another one lately, for a reader that jumps about in a file
// from afar and comes back: each request fetches more than was asked for, the more the longer the
// reading goes on in one direction.
#pragma once

#include <memory>

#include "storage/source.h"

namespace penstock::storage {

// A request is of 256 KB after a jump, and of up to 1 MB as reading goes on. What is kept is at
// most 8 MB. Batches go straight to `source`.
std::shared_ptr<const Source> keep_recent(std::shared_ptr<const Source> source);

}  // namespace penstock::storage

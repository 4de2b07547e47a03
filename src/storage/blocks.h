// A source for many small reads near one another: it fetches whole blocks of another and keeps the
// last ones, so that a library that picks its way through a file from afar makes few requests.
#pragma once

#include <memory>

#include "storage/source.h"

namespace penstock::storage {

// Reads that are larger than a block, and batches, go straight to `source`. What is kept is at most
// 4 MB.
std::shared_ptr<const Source> in_blocks(std::shared_ptr<const Source> source);

}  // namespace penstock::storage

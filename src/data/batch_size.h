// Is there memory for batches of the size that was asked for? Said before anything is allocated: a
// batch that cannot be had is an Error that names it, not the end of the process.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "data/loader.h"
#include "penstock/error.h"

namespace penstock::data {

// An Error if one batch needs more than all memory of this machine. Counted is what is known
// beforehand: slots, and what every row takes.
Status check_batch(const LoaderPlan& plan, const RunOptions& options);

// The Error of a batch of so many rows that the system has no memory for; bytes may be 0: unknown.
Error no_memory_for_batch(std::uint64_t rows, std::uint64_t bytes);

}  // namespace penstock::data

// Which process this is. Threads do not survive fork(): things that own threads remember the
// process they were made in and refuse to work, or to wait, in a child.
#pragma once

#include <cstdint>

#include "penstock/error.h"

namespace penstock::engine {

// Differs between a process and its forked children. A plain load, no system call.
std::uint64_t process_number() noexcept;

// What a child is told that uses a pipeline of its parent.
Error forked();

}  // namespace penstock::engine

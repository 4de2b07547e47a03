// Which process this is. Threads do not survive fork(): things that own threads remember the
// process they were made in.
#pragma once

#include <cstdint>

namespace penstock::detail {

// Differs between a process and its forked children. A plain load, no system call.
std::uint64_t process_number() noexcept;

}  // namespace penstock::detail

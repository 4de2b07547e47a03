// How long a thread could have run but had no core: other programs, or more threads than cores.
#pragma once

#include <cstdint>

namespace penstock::engine {

// Of a thread of this process, by the number that the system has given it. 0: the system does not
// say. Reads a file.
std::int64_t thread_delay_ns(int thread) noexcept;

}  // namespace penstock::engine

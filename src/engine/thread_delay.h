// How long a thread could have run but had no core: other programs, more threads than cores, or the
// host of a virtual machine.
#pragma once

#include <cstdint>

namespace penstock::engine {

// Of a thread of this process, by the number that the system has given it. 0: the system does not
// say. Reads a file.
std::int64_t thread_delay_ns(int thread) noexcept;

// Time that the host has taken from the cores of this virtual machine since it runs, the mean of
// them. No thread's delay has it. 0: the system does not say. Reads a file.
std::int64_t stolen_ns() noexcept;

}  // namespace penstock::engine

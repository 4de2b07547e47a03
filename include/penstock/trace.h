// A trace: what every thread did for every pipeline of this process, task by task, as a file for
// Perfetto (ui.perfetto.dev) or chrome://tracing.
//
// A lane for each thread, a slice for each task with its stage and the position of its item; arrows
// lead from the task that sent an item to the one that took it. Tasks of a few microseconds that a
// thread takes together are one slice. Tasks on an event loop, which overlap, have lanes of their
// own. The consumer's lane shows what it waited for.
//
// Each thread writes into memory of its own, without a lock; when that is full the oldest slices
// go. Without a trace a task pays for one load.
//
// Thread safety: any thread. There is one trace at a time.
#pragma once

#include <cstddef>
#include <string>

#include "penstock/error.h"

namespace penstock {

// Begins to record: the last `slices` of each thread.
Status start_trace(std::size_t slices = 65'536);

// Ends it and writes the file.
Status write_trace(const std::string& path);

// Ends it without a file. Nothing happens if there is none.
void drop_trace();

}  // namespace penstock

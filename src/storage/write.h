// Writing whole files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "penstock/error.h"

namespace penstock::storage {

enum class Durable : bool { no, yes };  // yes: it is on the disk when this returns

// Writes a new file under another name and renames it: whoever looks at `path` finds the old file
// or the new one, also after a failure. A file that is replaced hands its permissions on; where
// `path` is a link, what it leads to is replaced. What is no plain file (a pipe, a device), or lies
// in a folder that takes no new files, is written into.
Status write_file(const std::string& path, std::span<const std::byte> bytes,
                  Durable durable = Durable::no);

}  // namespace penstock::storage

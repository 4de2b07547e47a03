// Sidecars: an index that is kept in a file, beside the file that it belongs to or in a cache
// folder.
//
// "a/x.tar" has its index in "a/x.tar.psidx". Where that cannot be written it goes to
// $XDG_CACHE_HOME/penstock/index (~/.cache/penstock/index), under a name made of the path. It is
// written under another name and then renamed, so nobody ever sees half of one.
//
// An index belongs to a file of a certain size and time. If the size is another, or the time is and
// the index has no hashes that would notice a changed byte, that is an Error which says how to make
// a new one: a sidecar is never replaced unless somebody asks for that.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/index.h"
#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::formats {

struct SidecarOptions {
  bool checksums = false;  // an index without hashes will not do: it is made again with them
  bool refresh = false;    // make it anew, whatever is there
  bool write = true;       // false: a new index stays in memory
};

// The index of `name`, which is at `stamp`: read if there is one, else made by `make` and kept for
// the next time. If it can be written nowhere it stays in memory.
Result<Index> open_index(const std::string& name, storage::Stamp stamp,
                         const SidecarOptions& options, const std::function<Result<Index>()>& make);

// Where it looks, in this order.
std::string sidecar_beside(const std::string& name);
std::string sidecar_in_cache(const std::string& name);  // empty: there is no cache folder

// The same for an index of another kind, which tells by itself what it belongs to. Beside the file,
// else in the cache folder, else nowhere.
Result<std::optional<std::vector<std::byte>>> find_sidecar(const std::string& name);
Status keep_sidecar(std::span<const std::byte> bytes, const std::string& name);

Result<Index> load_sidecar(const std::string& path);
Status save_sidecar(const Index& index, const std::string& path);

}  // namespace penstock::formats

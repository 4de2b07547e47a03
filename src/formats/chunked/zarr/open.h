// Opening a Zarr store: which arrays are in it.
#pragma once

#include <string>
#include <vector>

#include "formats/chunked/array.h"
#include "penstock/error.h"

namespace penstock::formats::zarr {

// The arrays of these names ("image", "train/label"), or all below the root that have rows. A store
// that is an array itself has one, called "data". Names of what was not found are told with what is
// there.
Result<std::vector<chunked::Array>> open_arrays(const std::string& name,
                                                const std::vector<std::string>& fields);

// The attributes of the array or group at `path` ("": the root; "data": that of a store which is an
// array itself), as JSON text.
Result<std::string> attributes(const std::string& name, const std::string& path);

// Does this folder hold a Zarr array or group?
bool is_store(const std::string& folder);

}  // namespace penstock::formats::zarr

// Opening an HDF5 file: which datasets are in it, and where their chunks are.
//
// libhdf5 is asked for metadata only, through a module that is loaded when the first file is opened
// (module.h). From then on chunks are read and unpacked here, by all threads at once. A dataset
// that needs what is not unpacked here is read by libhdf5, one thread at a time; its note says so.
#pragma once

#include <string>
#include <vector>

#include "formats/chunked/array.h"
#include "penstock/error.h"

namespace penstock::formats::hdf5 {

// The datasets of these names ("image", "train/label"), or all below the root that have rows.
Result<std::vector<chunked::Array>> open_arrays(const std::string& name,
                                                const std::vector<std::string>& fields);

// The attributes of the dataset or group at `path` ("": the root), as JSON text.
Result<std::string> attributes(const std::string& name, const std::string& path);

}  // namespace penstock::formats::hdf5

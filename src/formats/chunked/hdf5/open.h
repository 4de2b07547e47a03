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
// If some of these cannot be read, the Error names those that can.
Result<std::vector<chunked::Array>> open_arrays(const std::string& name,
                                                const std::vector<std::string>& fields);

// A dataset, whether or not it can be read. If not, its array is known in part, or not at all.
struct Listed {
  chunked::Array array;
  std::string unreadable;  // why; empty: it can be read
};

// All below the root, single values too.
Result<std::vector<Listed>> list_arrays(const std::string& name);

// The attributes of the dataset or group at `path` ("": the root), as JSON text; in it NaN
// and Infinity are words, a complex number is {"\0complex": [re, im]}, and what cannot be told is
// in
// {"\0left out": {name: why}}.
Result<std::string> attributes(const std::string& name, const std::string& path);

}  // namespace penstock::formats::hdf5

// Attributes of HDF5 objects as JSON.
#pragma once

#include <hdf5.h>

#include <string>

#include "formats/chunked/hdf5/module.h"

namespace penstock::formats::hdf5 {

// Where values of variable length are read.
struct StoredOf {
  const Stored& stored;
  Stored::Object object;
};

// Numbers, booleans and text, single or in lists; what is something else is null.
std::string attributes_json(hid_t object, const StoredOf& stored);

}  // namespace penstock::formats::hdf5

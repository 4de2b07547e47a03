// Attributes of HDF5 objects as JSON.
#pragma once

#include <hdf5.h>

#include <string>

namespace penstock::formats::hdf5 {

// Numbers, booleans and text, single or in lists; what is something else is null.
std::string attributes_json(hid_t object);

}  // namespace penstock::formats::hdf5

// Rows of a .npy file on a web server: the header is read once, then rows by their ranges.
#pragma once

#include <string>

#include "formats/chunked/array.h"
#include "penstock/error.h"

namespace penstock::formats::npy {

// The one array, called `data`. Fails with unsupported where a row is not one range of the file
// (Fortran order), or where only NumPy knows how long an element is (records).
Result<chunked::Array> open_remote(const std::string& url);

}  // namespace penstock::formats::npy

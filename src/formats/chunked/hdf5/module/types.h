// Types of HDF5 as NumPy describes them, the way h5py does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/chunked/element.h"
#include "formats/chunked/hdf5/module/handle.h"

namespace penstock::formats::hdf5 {

struct TypeWords {
  std::string descr;                 // "<f4"; a dict for records
  std::vector<std::uint64_t> inner;  // dimensions of an array type
  std::size_t bytes = 0;             // of what descr describes
  std::vector<chunked::Text> texts;  // in it
};

bool is_boolean(hid_t enumeration);
bool is_complex(hid_t record);
bool varies(hid_t type);  // is there text or a list of variable length in it?

// What elements are read as: integers of fewer bits than their bytes have as those of all bits,
// which libhdf5 makes of them; all others as they are stored.
Handle read_as(hid_t stored);

// Fails with unsupported for what has no fixed size, and for references.
Result<TypeWords> words_of(hid_t type);

}  // namespace penstock::formats::hdf5

// Element types and fill values of Zarr's metadata.
#pragma once

#include "formats/chunked/element.h"
#include "formats/chunked/zarr/json.h"

namespace penstock::formats::zarr {

// Version 2: "<f4", or a list of fields. Version 3: "float32", or an object.
Result<chunked::Element> element_v2(const Json& dtype);
Result<chunked::Element> element_v3(const Json& data_type, bool big_endian);

// An element of the array, as this machine has it if it is a number, else as the file has it.
Result<std::vector<std::byte>> fill_value(const Json* value, const chunked::Element& element,
                                          int version);
// The same for a struct of version 3, whose fill value is an object: a value for each field.
Result<std::vector<std::byte>> struct_fill_value(const Json& value, const Json& data_type,
                                                 bool big_endian);

}  // namespace penstock::formats::zarr

// Arrow's C data interface: the two structs by which columns cross from one library to another
// without a copy. Their layout is fixed by Arrow's specification.
#pragma once

#include <cstdint>

extern "C" {

struct ArrowSchema {
  const char* format;  // the type: "l" is int64, "+l" a list
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);  // null once it is released, or moved
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;  // -1: not counted
  std::int64_t offset;      // elements before the first one, in every buffer
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

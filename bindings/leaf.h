// A source of a dataset as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "data/source.h"
#include "formats/chunked/rows.h"
#include "formats/table/rows.h"

namespace penstock::bindings {

// A shared pointer to const has no class of its own.
struct Leaf {
  data::SourcePtr source;
  std::shared_ptr<const formats::chunked::ArrayRecords> arrays = {};  // if it is made of arrays
  std::shared_ptr<const formats::table::TableRecords> table = {};     // if it is a table
};

void bind_array_leaf(nanobind::module_& m, nanobind::class_<Leaf>& leaf);
void bind_table_leaf(nanobind::class_<Leaf>& leaf);

}  // namespace penstock::bindings

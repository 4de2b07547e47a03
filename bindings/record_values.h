// Records for Python: opening them, their texts, and the counts of what was found on the way.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "formats/open.h"
#include "formats/records.h"
#include "released.h"
#include "texts.h"

namespace penstock::bindings {

inline nanobind::object checked(PyObject* stolen) {
  if (stolen == nullptr) throw nanobind::python_error();
  return nanobind::steal(stolen);
}

// Opens them without the GIL.
inline std::shared_ptr<const formats::Records> opened(const std::vector<std::string>& names,
                                                      const formats::OpenOptions& options) {
  std::optional<Result<std::shared_ptr<const formats::Records>>> records;
  {
    const Released released;
    records.emplace(formats::open_records(names, options));
  }
  return must(*std::move(records));
}

inline nanobind::dict as_dict(const formats::Findings& findings) {
  nanobind::dict all;
  all["not_files"] = findings.not_files;
  all["sparse"] = findings.sparse;
  all["unnamed"] = findings.unnamed;
  all["damaged"] = findings.damaged;
  all["duplicates"] = findings.duplicates;
  all["cut"] = findings.cut;
  all["without_end"] = findings.without_end;
  return all;
}

}  // namespace penstock::bindings

// How Errors become Python exceptions, for every file in bindings/.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "penstock/error.h"

namespace penstock::bindings {

// Sets the Python exception that fits the error's code and throws it.
[[noreturn]] void raise(const Error& error);

// The value, or the exception.
template <class T>
T must(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}

inline void must(const Status& status) {
  if (!status.ok()) raise(status.error());
}

}  // namespace penstock::bindings

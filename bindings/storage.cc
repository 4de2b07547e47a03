// Storage in Python: bytes of files and URLs, at any offset. Conversion only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "errors.h"
#include "released.h"
#include "storage/http_client.h"
#include "storage/source.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using SourcePtr = std::shared_ptr<const storage::Source>;

// A file or a URL that is open: always the version that was there then.
struct ByteSource {
  SourcePtr source;
};

SourcePtr open(const std::string& name) {
  std::optional<Result<SourcePtr>> source;
  {
    const Released released;
    source.emplace(storage::open_source(name));
  }
  return must(*std::move(source));
}

nb::object read(const storage::Source& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    raise(Error(Code::out_of_range,
                "there are " + std::to_string(file.size()) + " bytes; the range goes beyond them")
              .in_file(file.name()));
  }
  PyObject* made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
  if (made == nullptr) throw nb::python_error();
  const nb::object bytes = nb::steal(made);
  Status status;
  {
    const Released released;
    status = file.read(offset, {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(made)),
                                static_cast<std::size_t>(size)});
  }
  must(status);
  return bytes;
}

// libcurl's version, or None and why it cannot be used.
nb::tuple curl() {
  const Result<std::string> version = storage::curl_library();
  if (!version) return nb::make_tuple(nb::none(), version.error().message());
  return nb::make_tuple(*version, nb::none());
}

}  // namespace

void bind_storage(nb::module_& m) {
  nb::class_<ByteSource>(m, "ByteSource",
                         "A file or a URL: bytes at any offset, of the version that was opened.")
      .def(
          "__init__",
          [](ByteSource* self, const std::string& name) { new (self) ByteSource{open(name)}; },
          "name"_a)
      .def_prop_ro(
          "size", [](const ByteSource& self) { return self.source->size(); }, "In bytes.")
      .def(
          "read",
          [](const ByteSource& self, std::uint64_t offset, std::uint64_t size) {
            return read(*self.source, offset, size);
          },
          "offset"_a, "size"_a, nb::sig("def read(self, offset: int, size: int) -> bytes"),
          "Without the GIL while they come; exactly so many, or an exception.");
  m.def(
      "read_range",
      [](const std::string& name, std::uint64_t offset, std::uint64_t size) {
        return read(*open(name), offset, size);
      },
      "name"_a, "offset"_a, "size"_a,
      nb::sig("def read_range(name: str, offset: int, size: int) -> bytes"),
      "See penstock.io.read_range.");
  m.def("curl", &curl, nb::sig("def curl() -> tuple[str | None, str | None]"),
        "libcurl and what it was built with, with their versions, or why there is none.");
}

}  // namespace penstock::bindings

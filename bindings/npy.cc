// NumPy's own files in Python. Conversion only.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bindings.h"
#include "borrowed.h"
#include "errors.h"
#include "formats/npy/load.h"
#include "formats/npy/rows.h"
#include "formats/zip.h"
#include "python_value.h"
#include "released.h"
#include "tensor_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

namespace npy = formats::npy;

// Arrays come and go: their memory is used again, which is what makes loading fast.
BufferPool& pool() {
  static BufferPool all;
  return all;
}

// A NumPy array; or, where only NumPy knows the type, what it takes to make one: (bytes, dtype,
// fortran order, shape).
nb::object to_python(const npy::Array& array, const std::string& path = {}) {
  array.memory.give_to_user();
  if (array.header.dtype) {
    Result<Tensor> tensor = array.tensor();
    if (!tensor) raise(std::move(tensor).error().in_file(path));
    return to_numpy(nb::cast(*std::move(tensor)), nb::none(), nb::none());
  }
  const std::size_t left = array.memory.size() - array.offset;
  const Tensor bytes = must(
      Tensor::over(array.memory, DType::uint8, {static_cast<std::int64_t>(left)}, array.offset));
  nb::list shape;
  for (const std::int64_t extent : array.header.shape) shape.append(extent);
  const std::string& descr = array.header.descr;
  const auto decode = array.header.version < 3 ? PyUnicode_DecodeLatin1 : PyUnicode_DecodeUTF8;
  const nb::object text =
      nb::steal(decode(descr.data(), static_cast<Py_ssize_t>(descr.size()), nullptr));
  if (!text.is_valid()) throw nb::python_error();
  return nb::make_tuple(nb::cast(bytes), text, array.header.fortran, nb::tuple(shape));
}

nb::object load_file(const std::string& path, bool mmap) {
  std::optional<Result<npy::Array>> array;
  {
    const Released released;
    if (mmap) {
      array.emplace(npy::map(path));
    } else if (const auto source = storage::open_source(path); source) {
      array.emplace(npy::load(**source, pool()));
    } else {
      array.emplace(source.error());
    }
  }
  return to_python(must(*std::move(array)), path);
}

// The array shares the object's memory.
nb::object load_bytes(nb::object object) {
  auto held = std::make_shared<std::optional<BorrowedBytes>>(std::in_place, object, PyBUF_SIMPLE);
  const std::span<const std::byte> bytes = (*held)->bytes();
  const auto keep = std::make_shared<PyValue>(PyValue::borrow(object.ptr()));
  const Buffer memory = Buffer::wrap_read_only(bytes.data(), bytes.size(), [keep] { (void)keep; });
  return to_python(must(npy::over(bytes, memory)));
}

nb::object load_npy(nb::object source, bool mmap) {
  if (std::string path; nb::try_cast(source, path)) return load_file(path, mmap);
  return load_bytes(std::move(source));
}

struct Archive {
  std::shared_ptr<const storage::Source> file;
  formats::ZipFile zip;
};

Result<Archive> open_archive(Result<std::shared_ptr<const storage::Source>> file) {
  if (!file) return std::move(file).error();
  Result<formats::ZipFile> zip = formats::ZipFile::open(*file);
  if (!zip) return std::move(zip).error();
  return Archive{*std::move(file), *std::move(zip)};
}

// [(name, array or bytes), ...]
nb::list load_npz(nb::object source, const std::optional<std::vector<std::string>>& names) {
  std::optional<BorrowedBytes> held;
  std::string path;
  if (!nb::try_cast(source, path)) held.emplace(source, PyBUF_SIMPLE);
  std::optional<Result<Archive>> opened;
  {
    const Released released;
    opened.emplace(open_archive(held ? storage::source_over(held->bytes(), "memory")
                                     : storage::open_source(path)));
  }
  const auto [file, zip] = must(*std::move(opened));
  nb::list all;
  const auto add = [&](const formats::ZipFile::Member& member) {
    std::optional<Result<Buffer>> read;
    {
      const Released released;
      read.emplace(zip.read(member, pool()));
    }
    const Buffer memory = must(*std::move(read));
    const std::span<const std::byte> bytes =
        memory.bytes().first(static_cast<std::size_t>(member.size));
    if (!member.name.ends_with(".npy")) {
      all.append(nb::make_tuple(
          member.name, nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
      return;
    }
    Result<npy::Array> array = npy::over(bytes, memory);
    if (!array) raise(std::move(array).error().in_file(file->name()).of_sample(member.name));
    all.append(nb::make_tuple(member.name.substr(0, member.name.size() - 4), to_python(*array)));
  };
  if (!names) {
    for (const formats::ZipFile::Member& member : zip.members()) add(member);
    return all;
  }
  for (const std::string& name : *names) {
    const formats::ZipFile::Member* member = zip.find(name + ".npy");
    if (member == nullptr) member = zip.find(name);
    if (member == nullptr) {
      raise(Error(Code::no_field, "the archive has no array '" + name + "'").in_file(file->name()));
    }
    add(*member);
  }
  return all;
}

using SharedRows = std::shared_ptr<const npy::Rows>;

// Rows of a type that only NumPy knows.
struct RawRows {
  SharedRows rows;
};

nb::bytes read_raw(const RawRows& raw, std::uint64_t first, std::uint64_t count) {
  const npy::Rows& rows = *raw.rows;
  if (count > rows.size()) count = rows.size() + 1;  // an error, and not that of the memory
  const std::size_t size = rows.row_bytes() * static_cast<std::size_t>(count);
  const Buffer memory = must(pool().allocate(std::max<std::size_t>(size, 1)));
  Status outcome;
  {
    const Released released;
    std::byte* const to = memory.data();
    rows.read({&first, 1}, count, {&to, 1}, {&outcome, 1});
  }
  if (!outcome.ok()) raise(std::move(outcome).error());
  return nb::bytes(memory.data(), size);
}

}  // namespace

void bind_npy(nb::module_& m) {
  nb::class_<RawRows>(m, "NpyRows", "Rows of a .npy file, as bytes in C order.")
      .def(
          "__init__",
          [](RawRows* self, const std::string& path, std::size_t item_bytes) {
            std::optional<Result<SharedRows>> opened;
            {
              const Released released;
              opened.emplace(npy::Rows::open(path, item_bytes));
            }
            new (self) RawRows{must(*std::move(opened))};
          },
          "path"_a, "item_bytes"_a)
      .def("read", &read_raw, "first"_a, "count"_a);
  m.def("load_npy", &load_npy, "source"_a, "mmap"_a,
        nb::sig("def load_npy(source: typing.Any, mmap: bool) -> typing.Any"),
        "See penstock.io.load_npy.");
  m.def("load_npz", &load_npz, "source"_a, "names"_a.none(),
        nb::sig("def load_npz(source: typing.Any, names: list[str] | None) -> "
                "list[tuple[str, typing.Any]]"),
        "See penstock.io.load_npz.");
}

}  // namespace penstock::bindings

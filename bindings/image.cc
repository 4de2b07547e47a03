// Images in Python: conversion only; python/penstock/io.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "errors.h"
#include "media/image/batch.h"
#include "media/image/crop_request.h"
#include "native_op.h"
#include "penstock/media.h"
#include "penstock/tensor.h"
#include "python_value.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

using media::Bytes;
using media::CropRequest;

// A Python object's memory, borrowed for the length of a call. Made and destroyed under the GIL.
class BorrowedBytes {
 public:
  BorrowedBytes(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  BorrowedBytes(BorrowedBytes&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
  BorrowedBytes(const BorrowedBytes&) = delete;
  BorrowedBytes& operator=(const BorrowedBytes&) = delete;
  ~BorrowedBytes() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }

  const Py_buffer& view() const { return view_; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), std::size_t(view_.len)};
  }

 private:
  Py_buffer view_{};
};

template <class T>
T named(const std::map<std::string_view, T>& names, std::string_view name, const char* argument) {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::string known;
  for (const auto& [each, value] : names) known += (known.empty() ? "" : ", ") + std::string(each);
  raise(Error(Code::invalid_argument,
              std::string(argument) + " must be one of " + known + ", not " + std::string(name)));
}

const std::map<std::string_view, PixelMode> kModes = {
    {"RGB", PixelMode::rgb}, {"RGBA", PixelMode::rgba}, {"L", PixelMode::l},
    {"BGR", PixelMode::bgr}, {"P", PixelMode::index},   {"unchanged", PixelMode::unchanged}};
const std::map<std::string_view, Filter> kFilters = {
    {"nearest", Filter::nearest}, {"box", Filter::box},         {"bilinear", Filter::bilinear},
    {"hamming", Filter::hamming}, {"bicubic", Filter::bicubic}, {"lanczos", Filter::lanczos}};
const std::map<std::string_view, ImageFormat> kFormats = {
    {"jpeg", ImageFormat::jpeg}, {"png", ImageFormat::png}, {"webp", ImageFormat::webp}};
const std::map<std::string_view, Subsampling> kSubsamplings = {
    {"4:4:4", Subsampling::s444}, {"4:2:2", Subsampling::s422}, {"4:2:0", Subsampling::s420}};
const std::map<std::string_view, ImageLayout> kLayouts = {{"NHWC", ImageLayout::hwc},
                                                          {"NCHW", ImageLayout::chw}};

DecodeOptions options_of(std::string_view mode, bool strict, bool orientation,
                         std::int64_t max_pixels) {
  return {named(kModes, mode, "mode"), strict, orientation, max_pixels};
}

using BoxTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using SizeTuple = std::tuple<std::int64_t, std::int64_t>;

CropRequest request_of(std::optional<SizeTuple> size, std::optional<BoxTuple> box, bool centre,
                       std::optional<std::int64_t> resize_short, std::string_view interpolation,
                       bool flip, bool exact, double min_left) {
  CropRequest request;
  if (size) request.size = {std::get<0>(*size), std::get<1>(*size)};
  if (box) {
    const auto [left, top, right, bottom] = *box;
    request.crop = Rect{left, top, right - left, bottom - top};
  }
  request.centre = centre;
  request.resize_short = resize_short;
  request.filter = named(kFilters, interpolation, "interpolation");
  request.mirror = flip;
  request.exact = exact;
  request.min_left = min_left;
  return request;
}

// A new Tensor: (height, width) for one channel, (height, width, channels) for more.
class TensorTarget final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& shape) override {
    const Dims dims = shape.channels == 1 ? Dims{shape.height, shape.width}
                                          : Dims{shape.height, shape.width, shape.channels};
    Result<Tensor> made = Tensor::empty(shape.bits == 16 ? DType::uint16 : DType::uint8, dims);
    if (!made) return std::move(made).error();
    tensor = *std::move(made);
    return PixelMemory{reinterpret_cast<std::uint8_t*>(tensor.raw()),
                       std::ptrdiff_t(shape.row_bytes())};
  }
  Tensor tensor;
};

// The user's own array, which must have the picture's shape and type and rows without gaps.
class ArrayTarget final : public PixelTarget {
 public:
  explicit ArrayTarget(nb::handle array)
      : memory_(array, PyBUF_WRITABLE | PyBUF_STRIDES | PyBUF_FORMAT) {}
  Result<PixelMemory> place(const ImageShape& shape) override {
    const Py_buffer& view = memory_.view();
    const std::int64_t sample = shape.bits / 8;
    const bool flat = view.ndim == 2 && shape.channels == 1;
    const bool fits = (flat || (view.ndim == 3 && view.shape[2] == shape.channels)) &&
                      view.shape[0] == shape.height && view.shape[1] == shape.width;
    const bool unsigned_type = std::strcmp(view.format, shape.bits == 16 ? "H" : "B") == 0;
    if (!fits || !unsigned_type || view.itemsize != sample) {
      return Error(Code::invalid_argument,
                   "out must be a uint" + std::to_string(shape.bits) + " array of shape (" +
                       std::to_string(shape.height) + ", " + std::to_string(shape.width) +
                       (shape.channels == 1 ? "" : ", " + std::to_string(shape.channels)) + ")");
    }
    if (view.strides[1] != shape.channels * sample || (!flat && view.strides[2] != sample)) {
      return Error(Code::invalid_argument, "the pixels of a row of out must lie side by side");
    }
    return PixelMemory{static_cast<std::uint8_t*>(view.buf), view.strides[0]};
  }

 private:
  BorrowedBytes memory_;
};

Status decode(std::span<const std::byte> bytes, const DecodeOptions& options,
              const CropRequest& request, PixelTarget& target) {
  const auto status = [](Result<ImageShape> result) {
    return result ? Status() : Status(std::move(result).error());
  };
  if (request.whole()) return status(decode_image(bytes, options, target));
  media::RequestPlanner planner(request);
  return status(decode_crop_resize(bytes, options, planner, target));
}

nb::object decode_one(nb::handle data, std::string_view mode, bool strict, bool orientation,
                      std::int64_t max_pixels, std::optional<SizeTuple> size,
                      std::optional<BoxTuple> box, bool centre,
                      std::optional<std::int64_t> resize_short, std::string_view interpolation,
                      bool flip, bool exact, double min_left, nb::object out) {
  const DecodeOptions options = options_of(mode, strict, orientation, max_pixels);
  const CropRequest request =
      request_of(size, box, centre, resize_short, interpolation, flip, exact, min_left);
  const BorrowedBytes file(data, PyBUF_SIMPLE);
  Status status;
  if (!out.is_none()) {
    ArrayTarget target(out);
    {
      const nb::gil_scoped_release released;
      status = decode(file.bytes(), options, request, target);
    }
    must(status);
    return out;
  }
  TensorTarget target;
  {
    const nb::gil_scoped_release released;
    status = decode(file.bytes(), options, request, target);
  }
  must(status);
  return nb::cast(std::move(target.tensor));
}

// The user's own block of slots, of the given shape and type and without gaps.
std::byte* slots_in(const BorrowedBytes& memory, DType type, const Dims& dims) {
  const Py_buffer& view = memory.view();
  const char* format = type == DType::uint8 ? "B" : type == DType::float32 ? "f" : "e";
  if (std::strcmp(view.format, format) == 0 && view.ndim == int(dims.rank()) &&
      std::equal(dims.begin(), dims.end(), view.shape)) {
    return static_cast<std::byte*>(view.buf);
  }
  raise(Error(Code::invalid_argument, "out must be a contiguous " + std::string(name_of(type)) +
                                          " array of shape " + dims.to_string()));
}

// The block of slots, and per picture an error's words or None.
std::tuple<nb::object, std::vector<std::optional<std::string>>> decode_many(
    const std::vector<nb::object>& files, std::string_view mode, bool strict, bool orientation,
    std::int64_t max_pixels, SizeTuple size, const std::vector<std::optional<BoxTuple>>& boxes,
    bool centre, std::optional<std::int64_t> resize_short, std::string_view interpolation,
    const std::vector<bool>& flips, bool exact, double min_left, std::string_view layout,
    std::string_view dtype, const std::vector<double>& mean, const std::vector<double>& std,
    int threads, nb::object out) {
  const DecodeOptions options = options_of(mode, strict, orientation, max_pixels);
  std::vector<CropRequest> requests;
  for (std::size_t i = 0; i < files.size(); ++i) {
    requests.push_back(request_of(size, boxes.at(i), centre, resize_short, interpolation,
                                  flips.at(i), exact, min_left));
  }
  FinishSpec finish;
  finish.height = std::get<0>(size), finish.width = std::get<1>(size);
  finish.channels = channels_of(options.mode);
  finish.layout = named(kLayouts, layout, "layout");
  finish.type = must(dtype_named(dtype));
  if (finish.channels == 0) {
    raise(Error(Code::invalid_argument, "a batch needs a mode with a fixed number of channels"));
  }
  must(check(finish));
  if (!mean.empty() || !std.empty()) must(normalise(finish, mean, std));

  std::vector<BorrowedBytes> borrowed;
  std::vector<Bytes> spans;
  for (const nb::object& file : files) {
    borrowed.emplace_back(file, PyBUF_SIMPLE);
    spans.push_back(media::as_bytes(borrowed.back().bytes()));
  }
  const auto count = std::int64_t(files.size());
  const std::int64_t h = finish.height, w = finish.width, c = finish.channels;
  const Dims dims = finish.layout == ImageLayout::hwc ? Dims{count, h, w, c} : Dims{count, c, h, w};
  Tensor made;
  std::optional<BorrowedBytes> given;
  std::byte* slots = nullptr;
  if (out.is_none()) {
    made = must(Tensor::empty(finish.type, dims));
    slots = made.raw();
  } else {
    given.emplace(out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    slots = slots_in(*given, finish.type, dims);
  }
  std::vector<Status> outcomes;
  {
    const nb::gil_scoped_release released;
    outcomes = media::decode_batch(spans, options, requests, finish, slots, threads);
  }
  std::vector<std::optional<std::string>> errors;
  for (const Status& outcome : outcomes) {
    errors.push_back(outcome ? std::nullopt : std::optional(Status(outcome).error().to_string()));
  }
  return {given ? out : nb::cast(std::move(made)), std::move(errors)};
}

nb::dict info_of(nb::handle data) {
  const BorrowedBytes file(data, PyBUF_SIMPLE);
  const ImageInfo info = must(image_info(file.bytes()));
  nb::dict all;
  all["format"] = nb::str(name_of(info.format).data());
  all["width"] = info.width;
  all["height"] = info.height;
  all["channels"] = info.channels;
  all["bits"] = info.bits;
  all["orientation"] = info.orientation;
  return all;
}

nb::bytes encode(nb::handle array, std::string_view format, int quality,
                 std::string_view subsampling, bool progressive, int level, bool lossless) {
  const BorrowedBytes memory(array, PyBUF_STRIDES | PyBUF_FORMAT);
  const Py_buffer& view = memory.view();
  const bool flat = view.ndim == 2;
  if ((!flat && view.ndim != 3) || view.itemsize != 1 || std::strcmp(view.format, "B") != 0) {
    raise(Error(Code::invalid_argument,
                "an image to encode is a uint8 array of shape (height, width[, channels])"));
  }
  const auto channels = flat ? 1 : int(std::min<Py_ssize_t>(view.shape[2], 99));
  if (view.strides[1] != channels || (!flat && channels > 1 && view.strides[2] != 1)) {
    raise(Error(Code::invalid_argument, "the pixels of a row must lie side by side"));
  }
  const ConstImageView image{static_cast<const std::uint8_t*>(view.buf), view.shape[0],
                             view.shape[1], channels, view.strides[0]};
  EncodeOptions options;
  options.format = named(kFormats, format, "format");
  options.quality = quality;
  options.subsampling = named(kSubsamplings, subsampling, "subsampling");
  options.progressive = progressive;
  options.level = level;
  options.lossless = lossless;
  std::optional<Result<std::vector<std::byte>>> file;
  {
    const nb::gil_scoped_release released;
    file.emplace(encode_image(image, options));
  }
  const std::vector<std::byte> bytes = must(*std::move(file));
  return nb::bytes(bytes.data(), bytes.size());
}

// The same for pipelines: bytes in, a Tensor out, on a native worker.
NativeOp decode_op(std::string_view mode, bool strict, bool orientation, std::int64_t max_pixels,
                   std::optional<SizeTuple> size, std::optional<BoxTuple> box, bool centre,
                   std::optional<std::int64_t> resize_short, std::string_view interpolation,
                   bool flip, bool exact, double min_left) {
  const DecodeOptions options = options_of(mode, strict, orientation, max_pixels);
  const CropRequest request =
      request_of(size, box, centre, resize_short, interpolation, flip, exact, min_left);
  return {"decode_image", [options, request](Context& ctx) {
            const auto bytes = bytes_of(ctx.item());
            if (!bytes) {
              return ctx.fail(Error(Code::invalid_argument, "decode_image takes bytes objects"));
            }
            TensorTarget target;
            const Status status = decode(*bytes, options, request, target);
            if (!status.ok()) return ctx.fail(status.error());
            ctx.emit(Item::of(std::move(target.tensor)));
            return Step::done;
          }};
}

}  // namespace

void bind_image(nb::module_& m) {
  m.def("image_info", &info_of, "data"_a,
        nb::sig("def image_info(data: typing.Any) -> dict[str, typing.Any]"),
        "What an image's header says.");
  m.def("decode_image", &decode_one, "data"_a, "mode"_a, "strict"_a, "orientation"_a,
        "max_pixels"_a, "size"_a.none(), "box"_a.none(), "centre"_a, "resize_short"_a.none(),
        "interpolation"_a, "flip"_a, "exact"_a, "min_left"_a, "out"_a.none(),
        nb::sig("def decode_image(data: typing.Any, mode: str, strict: bool, orientation: bool, "
                "max_pixels: int, size: tuple[int, int] | None, box: tuple[int, int, int, int] | "
                "None, centre: bool, resize_short: int | None, interpolation: str, flip: bool, "
                "exact: bool, min_left: float, out: typing.Any) -> typing.Any"),
        "One image; see penstock.io.decode_image.");
  m.def("decode_image_op", &decode_op, "mode"_a, "strict"_a, "orientation"_a, "max_pixels"_a,
        "size"_a.none(), "box"_a.none(), "centre"_a, "resize_short"_a.none(), "interpolation"_a,
        "flip"_a, "exact"_a, "min_left"_a, "A native op; see penstock.ops.decode_image.");
  m.def("decode_image_batch", &decode_many, "files"_a, "mode"_a, "strict"_a, "orientation"_a,
        "max_pixels"_a, "size"_a, "boxes"_a, "centre"_a, "resize_short"_a.none(), "interpolation"_a,
        "flips"_a, "exact"_a, "min_left"_a, "layout"_a, "dtype"_a, "mean"_a, "std"_a, "threads"_a,
        "out"_a.none(), "Many images; see penstock.io.decode_image_batch.");
  m.def("encode_image", &encode, "array"_a, "format"_a, "quality"_a, "subsampling"_a,
        "progressive"_a, "level"_a, "lossless"_a,
        nb::sig("def encode_image(array: typing.Any, format: str, quality: int, subsampling: str, "
                "progressive: bool, level: int, lossless: bool) -> bytes"),
        "An image file; see penstock.io.encode_image.");
}

}  // namespace penstock::bindings

// Images in Python: conversion only; python/penstock/io.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.h"
#include "borrowed.h"
#include "errors.h"
#include "image_batch.h"
#include "image_request.h"
#include "media/image/shared_crop.h"
#include "native_op.h"
#include "penstock/media.h"
#include "penstock/tensor.h"
#include "pixel_targets.h"
#include "python_value.h"
#include "released.h"
#include "tensor_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

const std::map<std::string_view, ImageFormat> kFormats = {
    {"jpeg", ImageFormat::jpeg}, {"png", ImageFormat::png}, {"webp", ImageFormat::webp}};
const std::map<std::string_view, Subsampling> kSubsamplings = {
    {"4:4:4", Subsampling::s444}, {"4:2:2", Subsampling::s422}, {"4:2:0", Subsampling::s420}};

Status decode(std::span<const std::byte> bytes, const ImageRequest& request,
              const RandomStream& random, PixelTarget& target) {
  const auto status = [](Result<ImageShape> result) {
    return result ? Status() : Status(std::move(result).error());
  };
  if (request.crop.whole()) return status(decode_image(bytes, request.options, target));
  media::RequestPlanner planner(request.crop, random);
  return status(decode_crop_resize(bytes, request.options, planner, target));
}

nb::object decode_one(nb::handle data, const ImageRequest& request,
                      std::optional<std::uint64_t> position, nb::object out) {
  const RandomStream random = request.stream(position);
  const BorrowedBytes file(data, PyBUF_SIMPLE);
  Status status;
  if (!out.is_none()) {
    ArrayTarget target(out);
    {
      const Released released;
      status = decode(file.bytes(), request, random, target);
    }
    must(status);
    return out;
  }
  TensorTarget target;
  {
    const Released released;
    status = decode(file.bytes(), request, random, target);
  }
  must(status);
  return to_numpy(nb::cast(std::move(target.tensor)), nb::none(), nb::none());
}

// The fields as Tensors, and (left, top, right, bottom, mirrored). The first field follows the
// request; the others are masks.
std::tuple<std::vector<Tensor>, std::tuple<double, double, double, double, bool>> decode_fields(
    const std::vector<std::string>& names, const std::vector<nb::object>& files,
    const ImageRequest& request, std::string_view mask_mode,
    std::optional<std::uint64_t> position) {
  std::vector<BorrowedBytes> borrowed;
  for (const nb::object& file : files) borrowed.emplace_back(file, PyBUF_SIMPLE);
  DecodeOptions mask_options = request.options;
  mask_options.mode = named(kModes, mask_mode, "mask_mode");
  media::RequestPlanner planner(request.crop, request.stream(position));
  media::SharedPlanner shared(planner);
  std::vector<Tensor> tensors;
  Status status;
  {
    const Released released;
    for (std::size_t i = 0; i < borrowed.size() && status; ++i) {
      TensorTarget target;
      if (i == 1) shared.use(Filter::nearest);
      auto shape = decode_crop_resize(borrowed[i].bytes(), i == 0 ? request.options : mask_options,
                                      shared, target);
      if (!shape) status = media::in_field(names.at(i), shape.error());
      tensors.push_back(std::move(target.tensor));
    }
  }
  must(status);
  const auto [box, mirrored] = shared.shown();
  return {std::move(tensors), {box.left, box.top, box.right, box.bottom, mirrored}};
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
    const Released released;
    file.emplace(encode_image(image, options));
  }
  const std::vector<std::byte> bytes = must(*std::move(file));
  return nb::bytes(bytes.data(), bytes.size());
}

// The same for pipelines: bytes in, a Tensor out, on a native worker.
NativeOp decode_op(const ImageRequest& request) {
  NativeOp op;
  op.name = "decode_image";
  op.step = [request](Context& ctx) {
    const auto bytes = bytes_of(ctx.item());
    if (!bytes) {
      return ctx.fail(Error(Code::invalid_argument, "decode_image takes bytes objects"));
    }
    TensorTarget target;
    const RandomStream random(request.key, ctx.position());
    const Status status = decode(*bytes, request, random, target);
    if (!status.ok()) return ctx.fail(status.error());
    ctx.emit(Item::of(std::move(target.tensor)));
    return Step::done;
  };
  op.alone = [request](nb::handle data, std::optional<std::uint64_t> position, nb::object out) {
    return decode_one(data, request, position, std::move(out));
  };
  return op;
}

}  // namespace

void bind_image(nb::module_& m) {
  bind_image_request(m);
  m.def("image_info", &info_of, "data"_a.none(),
        nb::sig("def image_info(data: typing.Any) -> dict[str, typing.Any]"),
        "What an image's header says.");
  m.def("decode_image", &decode_one, "data"_a.none(), "request"_a, "position"_a.none(),
        "out"_a.none(),
        nb::sig("def decode_image(data: typing.Any, request: ImageRequest, position: int | None, "
                "out: typing.Any) -> typing.Any"),
        "One image; see penstock.io.decode_image.");
  m.def("decode_image_fields", &decode_fields, "names"_a, "files"_a, "request"_a, "mask_mode"_a,
        "position"_a.none(), "Images that share a crop; see penstock.io.decode_image_fields.");
  m.def("decode_image_op", &decode_op, "request"_a, "A native op; see penstock.ops.decode_image.");
  bind_image_batch(m);
  m.def("encode_image", &encode, "array"_a, "format"_a, "quality"_a, "subsampling"_a,
        "progressive"_a, "level"_a, "lossless"_a,
        nb::sig("def encode_image(array: typing.Any, format: str, quality: int, subsampling: str, "
                "progressive: bool, level: int, lossless: bool) -> bytes"),
        "An image file; see penstock.io.encode_image.");
}

}  // namespace penstock::bindings

#include "image_batch.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "borrowed.h"
#include "errors.h"
#include "image_request.h"
#include "media/image/batch.h"
#include "penstock/tensor.h"
#include "released.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

const std::map<std::string_view, ImageLayout> kLayouts = {{"NHWC", ImageLayout::hwc},
                                                          {"NCHW", ImageLayout::chw}};

// The exception that raise() would set.
nb::object exception_of(const Error& error) {
  try {
    raise(error);
  } catch (nb::python_error& raised) {
    return nb::borrow(raised.value());
  }
}

// The block of slots, and per picture an exception or None.
std::tuple<nb::object, std::vector<nb::object>> decode_many(
    const std::vector<nb::object>& files, const ImageRequest& request,
    const std::optional<std::vector<BoxTuple>>& boxes,
    const std::optional<std::vector<double>>& flips, std::optional<std::uint64_t> position,
    std::string_view layout, std::string_view dtype, const std::vector<double>& mean,
    const std::vector<double>& std, int threads, nb::object out) {
  std::vector<media::CropRequest> requests(files.size(), request.crop);
  bool random = request.random();
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (boxes) requests[i].crop = rect_of(boxes->at(i));
    if (flips) requests[i].flip = flips->at(i);
    random |= requests[i].flip > 0 && requests[i].flip < 1;
  }
  (void)stream_at(request.key, position, 0, random);  // raises where a position is missing
  FinishSpec finish;
  finish.height = request.crop.size->height, finish.width = request.crop.size->width;
  finish.channels = channels_of(request.options.mode);
  finish.layout = named(kLayouts, layout, "layout");
  finish.type = must(dtype_named(dtype));
  if (finish.channels == 0) {
    raise(Error(Code::invalid_argument, "a batch needs a mode with a fixed number of channels"));
  }
  must(check(finish));
  if (!mean.empty() || !std.empty()) must(normalise(finish, mean, std));

  std::vector<BorrowedBytes> borrowed;
  std::vector<media::Bytes> spans;
  for (const nb::object& file : files) {
    borrowed.emplace_back(file, PyBUF_SIMPLE);
    spans.push_back(media::as_bytes(borrowed.back().bytes()));
  }
  const auto count = std::int64_t(files.size());
  const std::int64_t h = finish.height, w = finish.width, c = finish.channels;
  const Dims dims = finish.layout == ImageLayout::hwc ? Dims{count, h, w, c} : Dims{count, c, h, w};
  Tensor made;
  std::optional<GivenArray> given;
  if (out.is_none()) {
    made = must(Tensor::empty(finish.type, dims));
  } else {
    given.emplace(out, finish.type, dims);
  }
  std::vector<Status> outcomes(files.size());
  {
    const Released released;
    media::decode_batch(spans, request.options, requests, finish,
                        given ? given->data() : made.raw(), outcomes, threads, request.key,
                        position.value_or(0));
  }
  std::vector<nb::object> errors;
  for (const Status& outcome : outcomes) {
    errors.push_back(outcome ? nb::none() : exception_of(outcome.error()));
  }
  return {given ? out : nb::cast(std::move(made)), std::move(errors)};
}

}  // namespace

void bind_image_batch(nb::module_& m) {
  m.def("decode_image_batch", &decode_many, "files"_a, "request"_a, "boxes"_a.none(),
        "flips"_a.none(), "position"_a.none(), "layout"_a, "dtype"_a, "mean"_a, "std"_a,
        "threads"_a, "out"_a.none(),
        nb::sig("def decode_image_batch(files: collections.abc.Sequence[object], request: "
                "ImageRequest, boxes: collections.abc.Sequence[tuple[int, int, int, int]] | None, "
                "flips: collections.abc.Sequence[float] | None, position: int | None, layout: str, "
                "dtype: str, mean: collections.abc.Sequence[float], std: "
                "collections.abc.Sequence[float], threads: int, out: typing.Any) -> "
                "tuple[typing.Any, list[Exception | None]]"),
        "Many images; see penstock.io.decode_image_batch.");
}

}  // namespace penstock::bindings

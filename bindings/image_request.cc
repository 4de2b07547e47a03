#include "image_request.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <utility>

#include "borrowed.h"
#include "errors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {

const std::map<std::string_view, PixelMode> kModes = {
    {"RGB", PixelMode::rgb}, {"RGBA", PixelMode::rgba}, {"L", PixelMode::l},
    {"BGR", PixelMode::bgr}, {"P", PixelMode::index},   {"unchanged", PixelMode::unchanged}};
const std::map<std::string_view, Filter> kFilters = {
    {"nearest", Filter::nearest}, {"box", Filter::box},         {"bilinear", Filter::bilinear},
    {"hamming", Filter::hamming}, {"bicubic", Filter::bicubic}, {"lanczos", Filter::lanczos}};

Rect rect_of(const BoxTuple& box) {
  const auto [left, top, right, bottom] = box;
  return {left, top, right - left, bottom - top};
}

RandomStream stream_at(const RandomKey& key, std::optional<std::uint64_t> position,
                       std::uint32_t operation, bool needed) {
  if (!position && needed) {
    raise(Error(Code::invalid_argument,
                "random numbers depend on where an image stands among all: give position="));
  }
  return RandomStream(key, position.value_or(0), operation);
}

RandomStream ImageRequest::stream(std::optional<std::uint64_t> position) const {
  return stream_at(key, position, 0, random());
}

namespace {

void make_request(ImageRequest* self, std::string_view mode, bool strict, bool orientation,
                  std::int64_t max_pixels, std::optional<SizeTuple> size,
                  std::optional<BoxTuple> box, std::string_view crop,
                  std::optional<std::int64_t> resize_short, std::string_view interpolation,
                  double flip, bool exact, double min_left, std::pair<double, double> scale,
                  std::pair<double, double> ratio, std::uint64_t seed, std::uint64_t epoch) {
  ImageRequest request;
  request.options = {named(kModes, mode, "mode"), strict, orientation, max_pixels};
  request.key = RandomKey(seed, epoch);
  media::CropRequest& cut = request.crop;
  if (size) cut.size = Size{std::get<0>(*size), std::get<1>(*size)};
  if (box) cut.crop = rect_of(*box);
  cut.centre = crop == "center";
  if (crop == "random_resized") {
    cut.random = ResizedCropRange{scale.first, scale.second, ratio.first, ratio.second};
  }
  cut.resize_short = resize_short;
  cut.filter = named(kFilters, interpolation, "interpolation");
  cut.flip = flip;
  cut.exact = exact;
  cut.min_left = min_left;
  must(media::check(cut));
  new (self) ImageRequest(std::move(request));
}

}  // namespace

void bind_image_request(nb::module_& m) {
  nb::class_<ImageRequest>(m, "ImageRequest", "What to make of an image; see penstock.io.")
      .def("__init__", &make_request, nb::kw_only(), "mode"_a, "strict"_a, "orientation"_a,
           "max_pixels"_a, "size"_a.none(), "box"_a.none(), "crop"_a, "resize_short"_a.none(),
           "interpolation"_a, "flip"_a, "exact"_a, "min_left"_a, "scale"_a, "ratio"_a, "seed"_a,
           "epoch"_a);
}

}  // namespace penstock::bindings

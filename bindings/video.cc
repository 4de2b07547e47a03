// Video in Python: conversion only; python/penstock/_video.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "clip_source.h"
#include "errors.h"
#include "image_request.h"
#include "media/av/load.h"
#include "media/video/open.h"
#include "media/video/walk.h"
#include "py_engine.h"
#include "released.h"
#include "tensor_export.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

VideoOptions options_of(int stream, int threads, std::int64_t max_pixels) {
  if (threads < 1) raise(Error(Code::invalid_argument, "ffmpeg_threads must be 1 or more"));
  VideoOptions options;
  options.stream = stream;
  options.ffmpeg_threads = threads;
  options.max_pixels = max_pixels;
  return options;
}

media::PaintRequest paint_of(const ImageRequest& request, const media::av::StreamInfo& stream) {
  media::PaintRequest paint;
  paint.crop = request.crop;
  paint.mode = request.options.mode;
  if (request.options.apply_orientation) paint.orientation = media::av::orientation_of(stream);
  return paint;
}

// A clip that any number of threads may use, one at a time.
class Clip {
 public:
  Clip(nb::handle source, int stream, int threads, std::int64_t max_pixels,
       std::string_view keep_index)
      : source_(source) {
    static const std::map<std::string_view, IndexFile> kept = {
        {"", IndexFile::none}, {"keep", IndexFile::keep}, {"refresh", IndexFile::refresh}};
    VideoOptions options = options_of(stream, threads, max_pixels);
    options.keep_index = named(kept, keep_index, "keep_index");
    std::optional<Result<std::unique_ptr<media::FrameReader>>> opened;
    {
      const Released released;
      opened.emplace(open(options));
    }
    reader_ = must(*std::move(opened));
  }

  std::size_t size() const { return reader_->index().frames.size(); }
  std::vector<double> times() const { return reader_->index().times; }
  const std::vector<std::uint32_t>& packets() const { return reader_->index().frames; }
  media::PaintRequest paint(const ImageRequest& request) const {
    const std::lock_guard lock(mutex_);  // who reads may open the file again
    return paint_of(request, reader_->input().stream());
  }
  const std::string& damage() const { return reader_->index().damage; }
  std::vector<std::int64_t> frames_at(const std::vector<double>& times) const {
    std::vector<std::int64_t> all;
    for (const double time : times) all.push_back(must(media::frame_at(reader_->index(), time)));
    return all;
  }

  nb::dict info() {
    std::optional<Result<VideoInfo>> got;
    {
      const Released released;
      const std::lock_guard lock(mutex_);
      got.emplace(media::info_of(*reader_));
    }
    const VideoInfo info = must(*std::move(got));
    nb::dict all;
    all["container"] = info.container;
    all["codec"] = info.codec;
    all["width"] = info.width;
    all["height"] = info.height;
    all["frames"] = info.frames;
    all["rate"] = info.rate;
    all["duration"] = info.duration;
    all["start"] = info.start;
    all["rotation"] = info.rotation;
    all["mirrored"] = info.mirrored;
    all["pixel_format"] = info.pixel_format;
    all["bits"] = info.bits;
    all["alpha"] = info.alpha;
    all["key_frames"] = info.key_frames;
    all["damage"] = info.damage;
    return all;
  }

  // (pixels, numbers, damaged, exception or None)
  nb::tuple read(const std::vector<std::int64_t>& numbers, const ImageRequest& request,
                 std::optional<std::uint64_t> position, bool partial) {
    const RandomStream random = request.stream(position);
    std::optional<Result<VideoFrames>> got;
    {
      const Released released;
      const std::lock_guard lock(mutex_);
      got.emplace(media::read_frames(*reader_, numbers,
                                     paint_of(request, reader_->input().stream()),
                                     {request.options.strict, partial}, random));
    }
    VideoFrames frames = must(*std::move(got));
    nb::object failure = frames.failure ? exception_of(*frames.failure) : nb::object(nb::none());
    return nb::make_tuple(to_numpy(nb::cast(std::move(frames.pixels)), nb::none(), nb::none()),
                          frames.numbers, frames.damaged, failure);
  }

 private:
  Result<std::unique_ptr<media::FrameReader>> open(const VideoOptions& options) const {
    Result<std::shared_ptr<const storage::Source>> source = source_.open();
    if (!source) return std::move(source).error();
    return media::open_frames(*std::move(source), options);
  }

  ClipSource source_;
  mutable std::mutex mutex_;
  std::unique_ptr<media::FrameReader> reader_;
};

class ClipIterator {
 public:
  ClipIterator(const Clip& clip, nb::handle source, int stream, int threads,
               std::int64_t max_pixels, const ImageRequest& request,
               std::optional<std::uint64_t> position, bool partial)
      : source_(source) {
    const RandomStream random = request.stream(position);
    const VideoOptions options = options_of(stream, threads, max_pixels);
    std::optional<Result<std::unique_ptr<media::FrameWalk>>> opened;
    {
      const Released released;
      Result<std::shared_ptr<const storage::Source>> bytes = source_.open();
      if (!bytes) {
        opened.emplace(std::move(bytes).error());
      } else {
        opened.emplace(media::FrameWalk::open(*std::move(bytes), options, clip.paint(request),
                                              {request.options.strict, partial}, random,
                                              clip.packets(), clip.damage()));
      }
    }
    walk_ = must(*std::move(opened));
  }

  nb::object next() {
    std::optional<Result<std::optional<Tensor>>> got;
    {
      const Released released;
      const std::lock_guard lock(mutex_);
      got.emplace(walk_->next());
    }
    std::optional<Tensor> frame = must(*std::move(got));
    if (!frame) throw nb::stop_iteration();
    return to_numpy(nb::cast(*std::move(frame)), nb::none(), nb::none());
  }

 private:
  ClipSource source_;
  std::mutex mutex_;
  std::unique_ptr<media::FrameWalk> walk_;
};

// FFmpeg's version, or None and why it cannot be used.
nb::tuple ffmpeg() {
  const Result<media::av::Library*> library = media::av::library();
  if (!library) return nb::make_tuple(nb::none(), library.error().message());
  return nb::make_tuple((*library)->version(), nb::none());
}

nb::object flac() {
  const Result<media::av::Library*> library = media::av::library();
  const std::string version = library ? (*library)->flac_version() : std::string();
  if (version.empty()) return nb::none();
  return nb::cast(version);
}

}  // namespace

void bind_video(nb::module_& m) {
  m.def("ffmpeg", &ffmpeg, nb::sig("def ffmpeg() -> tuple[str | None, str | None]"),
        "The version of FFmpeg that is used, or why there is none.");
  m.def("flac", &flac, nb::sig("def flac() -> str | None"),
        "The version of libFLAC; None: FFmpeg reads FLAC files.");
  nb::class_<Clip>(m, "Clip", "A video; see penstock.io.Video.")
      .def(nb::init<nb::handle, int, int, std::int64_t, std::string_view>(), "source"_a, "stream"_a,
           "threads"_a, "max_pixels"_a, "keep_index"_a,
           nb::sig("def __init__(self, source: typing.Any, stream: int, threads: int, "
                   "max_pixels: int, keep_index: str) -> None"))
      .def("__len__", &Clip::size)
      .def_prop_ro("times", &Clip::times, "Of the frames, in seconds from the first one.")
      .def_prop_ro("damage", &Clip::damage, "Of the container, in words; empty: none was found.")
      .def("frames_at", &Clip::frames_at, "times"_a, "The frames that are shown at these times.")
      .def("info", &Clip::info, nb::sig("def info(self) -> dict[str, typing.Any]"))
      .def("read", &Clip::read, "numbers"_a, "request"_a, "position"_a.none(), "partial"_a,
           nb::sig("def read(self, numbers: collections.abc.Sequence[int], request: ImageRequest, "
                   "position: int | None, partial: bool) -> tuple[typing.Any, list[int], "
                   "list[int], Exception | None]"),
           "Pixels, the numbers of the frames, those of damaged ones, and what failed.");
  nb::class_<ClipIterator>(m, "ClipIterator", "Frames from front to back.")
      .def(nb::init<const Clip&, nb::handle, int, int, std::int64_t, const ImageRequest&,
                    std::optional<std::uint64_t>, bool>(),
           "clip"_a, "source"_a, "stream"_a, "threads"_a, "max_pixels"_a, "request"_a,
           "position"_a.none(), "partial"_a,
           nb::sig("def __init__(self, clip: Clip, source: typing.Any, stream: int, threads: int, "
                   "max_pixels: int, request: ImageRequest, position: int | None, partial: bool) "
                   "-> None"))
      .def(
          "__iter__", [](nb::handle self) { return self; },
          nb::sig("def __iter__(self) -> ClipIterator"))
      .def("__next__", &ClipIterator::next, nb::sig("def __next__(self) -> typing.Any"));
}

}  // namespace penstock::bindings

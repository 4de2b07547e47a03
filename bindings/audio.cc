// Audio in Python: conversion only; python/penstock/_audio.py is what users see.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "clip_source.h"
#include "errors.h"
#include "image_request.h"
#include "media/audio/load.h"
#include "py_engine.h"
#include "released.h"
#include "tensor_export.h"
#include "tensor_import.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

nb::dict info_of(nb::handle source, int stream) {
  const ClipSource clip(source);
  std::optional<Result<AudioInfo>> got;
  {
    const Released released;
    auto opened = clip.open();
    if (!opened) {
      got.emplace(std::move(opened).error());
    } else {
      got.emplace(media::audio_info(*std::move(opened), stream));
    }
  }
  const AudioInfo info = must(*std::move(got));
  nb::dict all;
  all["container"] = info.container;
  all["codec"] = info.codec;
  all["sample_rate"] = info.sample_rate;
  all["channels"] = info.channels;
  all["layout"] = info.layout;
  all["bits"] = info.bits;
  all["duration"] = info.duration;
  return all;
}

// (samples, sample rate, start, damaged, exception or None)
nb::tuple load(nb::handle source, const AudioOptions& options) {
  const ClipSource clip(source);
  std::optional<Result<Audio>> got;
  {
    const Released released;
    auto opened = clip.open();
    if (!opened) {
      got.emplace(std::move(opened).error());
    } else {
      got.emplace(media::load_audio(*std::move(opened), options));
    }
  }
  Audio audio = must(*std::move(got));
  nb::object failure = audio.failure ? exception_of(*audio.failure) : nb::object(nb::none());
  return nb::make_tuple(to_numpy(nb::cast(std::move(audio.samples)), nb::none(), nb::none()),
                        audio.sample_rate, audio.start, audio.damaged, failure);
}

// The bytes of a file, or, with a path, nothing.
nb::object save(std::optional<std::string> path, nb::handle samples, int sample_rate,
                const std::string& format, const std::string& coding, bool channels_first) {
  static const std::map<std::string_view, AudioFormat> formats = {{"wav", AudioFormat::wav},
                                                                  {"flac", AudioFormat::flac}};
  static const std::map<std::string_view, SampleCoding> codings = {
      {"int16", SampleCoding::int16},
      {"int24", SampleCoding::int24},
      {"int32", SampleCoding::int32},
      {"float32", SampleCoding::float32}};
  const Tensor array = tensor_of(samples);
  const AudioFileOptions options{named(formats, format, "format"), named(codings, coding, "coding"),
                                 channels_first};
  if (path) {
    std::optional<Status> saved;
    {
      const Released released;
      saved.emplace(save_audio(*path, array, sample_rate, options));
    }
    must(*std::move(saved));
    return nb::none();
  }
  std::optional<Result<std::vector<std::byte>>> made;
  {
    const Released released;
    made.emplace(encode_audio(array, sample_rate, options));
  }
  const std::vector<std::byte> bytes = must(*std::move(made));
  return nb::bytes(bytes.data(), bytes.size());
}

void make_options(AudioOptions* self, double start, std::optional<double> duration, int sample_rate,
                  int channels, std::vector<int> select, const std::string& dtype,
                  bool channels_first, int stream, bool strict, bool partial, bool exact) {
  AudioOptions options;
  options.start = start;
  options.duration = duration;
  options.sample_rate = sample_rate;
  options.channels = channels;
  options.select = std::move(select);
  options.dtype = must(dtype_named(dtype));
  options.channels_first = channels_first;
  options.stream = stream;
  options.strict = strict;
  options.partial = partial;
  options.exact = exact;
  must(media::check(options));
  new (self) AudioOptions(std::move(options));
}

}  // namespace

void bind_audio(nb::module_& m) {
  nb::class_<AudioOptions>(m, "AudioOptions",
                           "What of a sound, and how; see penstock.io.load_audio.")
      .def("__init__", &make_options, nb::kw_only(), "start"_a, "duration"_a.none(),
           "sample_rate"_a, "channels"_a, "select"_a, "dtype"_a, "channels_first"_a, "stream"_a,
           "strict"_a, "partial"_a, "exact"_a);
  m.def("audio_info", &info_of, "source"_a, "stream"_a,
        nb::sig("def audio_info(source: typing.Any, stream: int) -> dict[str, typing.Any]"),
        "What an audio file's header says.");
  m.def("load_audio", &load, "source"_a, "options"_a,
        nb::sig("def load_audio(source: typing.Any, options: AudioOptions) -> tuple[typing.Any, "
                "int, float, int, Exception | None]"),
        "Samples, their rate, where they begin, damages, and what ended them early.");
  m.def("save_audio", &save, "path"_a.none(), "samples"_a, "sample_rate"_a, "format"_a, "coding"_a,
        "channels_first"_a,
        nb::sig("def save_audio(path: str | None, samples: typing.Any, sample_rate: int, "
                "format: str, coding: str, channels_first: bool) -> bytes | None"),
        "A sound as a file, or as the bytes of one.");
}

}  // namespace penstock::bindings

#include "media/audio/load.h"

#include <cstring>
#include <utility>

#include "media/audio/flac.h"
#include "media/audio/pass.h"
#include "media/audio/wav.h"
#include "media/av/load.h"

namespace penstock::media {
namespace {

// The channels asked for, each a copy.
Result<Tensor> selected(const Tensor& samples, const std::vector<int>& select) {
  Result<Tensor> made =
      Tensor::empty(samples.dtype(), {std::int64_t(select.size()), samples.shape()[1]});
  if (!made) return made;
  const std::size_t bytes = std::size_t(samples.shape()[1]) * size_of(samples.dtype());
  for (std::size_t i = 0; i < select.size() && bytes > 0; ++i) {
    std::memcpy(made->raw() + i * bytes, samples.raw() + std::size_t(select[i]) * bytes, bytes);
  }
  return made;
}

template <class T>
Result<Tensor> transposed(const Tensor& samples) {
  const std::int64_t channels = samples.shape()[0], count = samples.shape()[1];
  Result<Tensor> made = Tensor::empty(samples.dtype(), {count, channels});
  if (!made) return made;
  const T* from = samples.data<T>();
  T* to = made->data<T>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < count; ++i) to[i * channels + c] = from[c * count + i];
  }
  return made;
}

// All channels of the file, as the options want them.
Result<Audio> in_form(Audio audio, const AudioOptions& options) {
  if (!options.select.empty()) {
    Result<Tensor> some = selected(audio.samples, options.select);
    if (!some) return std::move(some).error();
    audio.samples = *std::move(some);
  }
  if (!options.channels_first) {
    Result<Tensor> turned = options.dtype == DType::float32
                                ? transposed<float>(audio.samples)
                                : transposed<std::int16_t>(audio.samples);
    if (!turned) return std::move(turned).error();
    audio.samples = *std::move(turned);
  }
  return audio;
}

Result<std::unique_ptr<av::Input>> open_sound(std::shared_ptr<const storage::Source> source,
                                              int stream, bool look) {
  const Result<av::Library*> library = av::library();
  if (!library) return library.error();
  av::InputOptions wanted;
  wanted.kind = av::Kind::audio;
  wanted.stream = stream;
  wanted.look = look;
  if (storage::is_url(source->name())) wanted.buffer = 1 << 18;
  return (*library)->open(std::move(source), wanted);
}

}  // namespace

Status check(const AudioOptions& options) {
  const auto bad = [](const char* text) { return Error(Code::invalid_argument, text); };
  constexpr double kMost = 1e9;  // seconds
  if (!(options.start >= 0)) return bad("start must be 0 or more");
  if (options.start > kMost) return bad("start must be 1e9 seconds at most");
  if (options.duration && !(*options.duration > 0)) return bad("duration must be more than 0");
  if (options.duration && *options.duration > kMost) {
    return bad("duration must be 1e9 seconds at most; leave it out to go on to the end");
  }
  if (options.sample_rate < 0 || options.sample_rate > 1 << 22) {
    return bad("sample_rate must be a number of samples a second");
  }
  if (options.channels < 0 || options.channels > SampleBlock::kMostChannels) {
    return bad("channels must be 1 to 64");
  }
  if (options.channels > 0 && !options.select.empty()) {
    return bad("channels is a number or a list of channels, not both");
  }
  if (options.dtype != DType::float32 && options.dtype != DType::int16) {
    return bad("dtype must be float32 or int16");
  }
  return {};
}

Result<AudioInfo> audio_info(std::shared_ptr<const storage::Source> source, int stream) {
  WavData data;
  Result<std::optional<WavHeader>> wav = read_wav_header(*source, &data);
  if (!wav) return std::move(wav).error();
  if (*wav && stream <= 0) return info_of(**wav);
  Result<std::unique_ptr<av::Input>> input =
      open_sound(for_ffmpeg(std::move(source), data), stream, true);
  if (!input) return std::move(input).error();
  const av::StreamInfo& is = (*input)->stream();
  AudioInfo info;
  info.container = is.container;
  info.codec = is.codec;
  info.sample_rate = is.sample_rate;
  info.channels = is.channels;
  info.layout = is.layout;
  info.bits = is.bits;
  info.duration = is.duration;
  return info;
}

Result<Audio> load_audio(std::shared_ptr<const storage::Source> source, const AudioOptions& options,
                         Extent* whole) {
  if (Status fine = check(options); !fine) return std::move(fine).error();
  WavData data;
  Result<std::optional<WavHeader>> wav = read_wav_header(*source, &data);
  if (!wav) return std::move(wav).error();
  if (*wav && wav_gives(**wav, options)) {
    if (whole != nullptr) *whole = {(*wav)->said, (*wav)->sample_rate};
    return load_wav(*source, **wav, options);
  }
  source = for_ffmpeg(std::move(source), data);
  Result<std::optional<Audio>> flac = load_flac(source, options, whole);
  if (!flac) return std::move(flac).error();
  if (*flac) return in_form(**std::move(flac), options);
  Result<std::unique_ptr<av::Input>> input = open_sound(source, options.stream, false);
  if (!input) return std::move(input).error();
  if ((*input)->stream().sample_rate <= 0) {
    return Error(Code::corrupt, "it has no sample rate").in_file(source->name());
  }
  std::optional<Pass> pass(std::in_place, **input, options, *source, false);
  Result<bool> as_said = pass->run(false);
  if (!as_said) return std::move(as_said).error();
  if (!*as_said) {
    input = open_sound(source, options.stream, true);
    if (!input) return std::move(input).error();
    pass.emplace(**input, options, *source, true);
    as_said = pass->run(true);
    if (!as_said) return std::move(as_said).error();
  }
  if (whole != nullptr) *whole = {pass->total(), (*input)->stream().sample_rate};
  Result<Audio> audio = pass->finish();
  if (!audio) return audio;
  return in_form(*std::move(audio), options);
}

}  // namespace penstock::media

namespace penstock {

Result<AudioInfo> audio_info(const std::string& name, int stream) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  return media::audio_info(*std::move(source), stream);
}

Result<AudioInfo> audio_info(std::span<const std::byte> bytes, int stream) {
  return media::audio_info(storage::source_over(bytes, ""), stream);
}

Result<Audio> load_audio(const std::string& name, const AudioOptions& options) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  return media::load_audio(*std::move(source), options);
}

Result<Audio> load_audio(std::span<const std::byte> bytes, const AudioOptions& options) {
  return media::load_audio(storage::source_over(bytes, ""), options);
}

}  // namespace penstock

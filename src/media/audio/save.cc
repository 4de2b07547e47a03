// Writing sounds: WAV by ourselves, FLAC by FFmpeg's encoder.
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "media/av/load.h"
#include "penstock/audio.h"
#include "storage/file.h"
#include "storage/write.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMostBytes = 0xFFFFFFFF - 64;  // a WAV's sizes have 32 bits

struct Form {
  std::int64_t channels = 1, samples = 0;
  bool floating = true;
  // From a sample or a channel to the next, in elements.
  std::int64_t sample_step = 1, channel_step = 0;
};

Result<Form> form_of(const Tensor& array, bool channels_first) {
  Form form;
  const bool flat = array.rank() == 1;
  form.floating = array.dtype() == DType::float32;
  if ((!form.floating && array.dtype() != DType::int16) || (!flat && array.rank() != 2)) {
    return Error(Code::invalid_argument,
                 "a sound is a float32 or int16 array of one or two dimensions, not " +
                     std::string(name_of(array.dtype())) + " of shape " +
                     array.shape().to_string());
  }
  const std::size_t time = flat || !channels_first ? 0 : 1;
  form.samples = array.shape()[time];
  form.sample_step = array.strides()[time];
  if (!flat) {
    form.channels = array.shape()[1 - time];
    form.channel_step = array.strides()[1 - time];
  }
  if (form.channels < 1 || form.channels > 64) {
    return Error(Code::invalid_argument, "a sound has 1 to 64 channels, not " +
                                             std::to_string(form.channels) +
                                             "; is the layout right?");
  }
  return form;
}

// Integers have no NaN.
Status all_numbers(const Tensor& array, const Form& form) {
  for (std::int64_t c = 0; c < form.channels; ++c) {
    for (std::int64_t i = 0; i < form.samples; ++i) {
      if (!std::isnan(array.data<float>()[i * form.sample_step + c * form.channel_step])) continue;
      return Error(Code::invalid_argument, "sample " + std::to_string(i) + " of channel " +
                                               std::to_string(c) + " is not a number");
    }
  }
  return {};
}

std::int64_t rounded(float value, double scale) {
  const double scaled = double(value) * scale;
  if (scaled <= -scale) return std::int64_t(-scale);
  if (scaled >= scale - 1) return std::int64_t(scale) - 1;
  return std::llrint(scaled);
}

void put(std::byte*& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) *to++ = std::byte(value >> (8 * i) & 255);
}

// Calls `take` with each sample, channel by channel of each moment, as a number of `bits` bits.
template <class Take>
void each(const Tensor& array, const Form& form, int bits, const Take& take) {
  const double scale = std::ldexp(1.0, bits - 1);
  for (std::int64_t i = 0; i < form.samples; ++i) {
    for (std::int64_t c = 0; c < form.channels; ++c) {
      const std::int64_t at = i * form.sample_step + c * form.channel_step;
      if (form.floating) {
        take(rounded(array.data<float>()[at], scale));
      } else {
        take(std::int64_t(array.data<std::int16_t>()[at]) << (bits - 16));
      }
    }
  }
}

Result<std::vector<std::byte>> wav_of(const Tensor& array, const Form& form, int sample_rate,
                                      SampleCoding coding) {
  const int bits = coding == SampleCoding::int16 ? 16 : coding == SampleCoding::int24 ? 24 : 32;
  const std::uint64_t block = std::uint64_t(form.channels) * std::uint64_t(bits / 8);
  const std::uint64_t size = std::uint64_t(form.samples) * block;
  if (size > kMostBytes) return Error(Code::out_of_range, "a WAV file holds 4 GB at most");
  std::vector<std::byte> file(std::size_t(44 + size + size % 2));
  std::byte* to = file.data();
  const auto word = [&to](const char* text) {
    std::memcpy(to, text, 4);
    to += 4;
  };
  word("RIFF"), put(to, 36 + size + size % 2, 4), word("WAVE"), word("fmt "), put(to, 16, 4);
  put(to, coding == SampleCoding::float32 ? 3 : 1, 2), put(to, std::uint64_t(form.channels), 2);
  put(to, std::uint64_t(sample_rate), 4), put(to, std::uint64_t(sample_rate) * block, 4);
  put(to, block, 2), put(to, std::uint64_t(bits), 2), word("data"), put(to, size, 4);
  if (coding != SampleCoding::float32) {
    each(array, form, bits, [&](std::int64_t value) { put(to, std::uint64_t(value), bits / 8); });
    return file;
  }
  for (std::int64_t i = 0; i < form.samples; ++i) {
    for (std::int64_t c = 0; c < form.channels; ++c) {
      const std::int64_t at = i * form.sample_step + c * form.channel_step;
      const float value = form.floating ? array.data<float>()[at]
                                        : float(array.data<std::int16_t>()[at]) / 32768.0f;
      std::memcpy(to, &value, 4);
      to += 4;
    }
  }
  return file;
}

Result<std::vector<std::byte>> flac_of(const Tensor& array, const Form& form, int sample_rate,
                                       SampleCoding coding) {
  if (coding != SampleCoding::int16 && coding != SampleCoding::int24) {
    return Error(Code::invalid_argument, "FLAC holds int16 or int24");
  }
  if (form.channels > 8) return Error(Code::invalid_argument, "FLAC holds 8 channels at most");
  if (sample_rate > 65534 && (sample_rate % 10 != 0 || sample_rate > 655340)) {
    return Error(
        Code::invalid_argument,
        "FLAC is written with a sample_rate of up to 65534, or of tens up to 655340, not " +
            std::to_string(sample_rate));
  }
  const Result<media::av::Library*> library = media::av::library();
  if (!library) return library.error();
  const int bits = coding == SampleCoding::int16 ? 16 : 24;
  std::vector<std::int32_t> samples;
  samples.reserve(std::size_t(form.samples * form.channels));
  each(array, form, bits, [&samples, bits](std::int64_t value) {
    samples.push_back(std::int32_t(std::uint32_t(value) << (32 - bits)));
  });
  return (*library)->encode_flac(samples, int(form.channels), sample_rate, bits);
}

}  // namespace

Result<std::vector<std::byte>> encode_audio(const Tensor& samples, int sample_rate,
                                            const AudioFileOptions& options) {
  if (sample_rate < 1 || sample_rate > 655350) {
    return Error(Code::invalid_argument, "sample_rate must be 1 to 655350");
  }
  const Result<Form> form = form_of(samples, options.channels_first);
  if (!form) return form.error();
  if (form->floating && options.coding != SampleCoding::float32) {
    if (Status fine = all_numbers(samples, *form); !fine) return std::move(fine).error();
  }
  return options.format == AudioFormat::wav ? wav_of(samples, *form, sample_rate, options.coding)
                                            : flac_of(samples, *form, sample_rate, options.coding);
}

Status save_audio(const std::string& path, const Tensor& samples, int sample_rate,
                  const AudioFileOptions& options) {
  const Result<std::vector<std::byte>> bytes = encode_audio(samples, sample_rate, options);
  if (!bytes) return bytes.error();
  // A file that must not be written is not replaced either.
  if (::access(path.c_str(), W_OK) != 0 && errno != ENOENT) {
    return storage::system_error(errno, "write", path);
  }
  return storage::write_file(path, *bytes);
}

}  // namespace penstock

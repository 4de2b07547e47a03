#include "media/audio/flac.h"

#include <array>
#include <cstring>

#include "media/audio/part.h"
#include "media/audio/samples.h"
#include "media/av/load.h"

namespace penstock::media {
namespace {

constexpr std::int64_t kMostOfAByte = 4096;  // samples
constexpr std::int64_t kSlack = 4096;        // what a resampler may give too much

bool is_flac(const storage::Source& source) {
  std::array<std::byte, 4> mark{};
  return source.size() > 64 && source.read(0, mark) &&
         std::memcmp(mark.data(), "fLaC", mark.size()) == 0;
}

}  // namespace

Result<std::optional<Audio>> load_flac(const std::shared_ptr<const storage::Source>& source,
                                       const AudioOptions& options, Extent* whole) {
  const std::optional<Audio> nothing;
  // Over a network FFmpeg's reads are the fewer ones.
  if (options.stream > 0 || storage::is_url(source->name()) || !is_flac(*source)) return nothing;
  const Result<av::Library*> library = av::library();
  if (!library) return library.error();
  const std::unique_ptr<av::FlacFile> file = (*library)->open_flac(source);
  if (file == nullptr) return nothing;
  for (const int one : options.select) {
    if (one < 0 || one >= file->channels) return nothing;
  }
  const Part part = part_of(options, file->sample_rate);
  const std::int64_t first = part.first, end = std::min(part.end, file->samples);
  // A header may tell of more than there is; so much memory is not asked for on its word.
  const bool likely = (end - first) / kMostOfAByte < std::int64_t(source->size());
  if (first >= end || !likely) return nothing;
  av::SampleForm form;
  form.sample_rate = options.sample_rate > 0 ? options.sample_rate : file->sample_rate;
  form.channels = options.channels > 0 ? options.channels : file->channels;
  form.floating = options.dtype == DType::float32;
  const bool as_it_is = form.sample_rate == file->sample_rate && form.channels == file->channels;
  const std::int64_t count = made_of(end - first, part, file->sample_rate, form.sample_rate);
  if (count / kMostOfAByte >= std::int64_t(source->size())) return nothing;
  const std::int64_t room = count + (as_it_is ? 0 : kSlack);
  SampleBlock block(options.dtype, form.channels);
  auto rows = block.room(room);
  if (!rows) return std::move(rows).error();
  if (as_it_is) {
    if (!file->read(first, count, form.floating, rows->data())) return nothing;
    block.took(count);
  } else {
    const std::int64_t made = file->read_as(form, first, end - first, rows->data(), room, count);
    if (made < 0) return nothing;
    block.took(made);
    block.cut(count);
  }
  Result<Tensor> samples = block.take();
  if (!samples) return std::move(samples).error();
  if (whole != nullptr) *whole = {file->samples, file->sample_rate};
  Audio audio;
  audio.sample_rate = form.sample_rate;
  audio.start = double(first) / file->sample_rate;
  audio.samples = *std::move(samples);
  return std::optional<Audio>(std::move(audio));
}

}  // namespace penstock::media

#include "penstock/video.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/sidecar.h"
#include "media/av/load.h"
#include "media/results.h"
#include "media/video/ending.h"
#include "media/video/index_file.h"
#include "media/video/open.h"
#include "media/video/painter.h"
#include "storage/recent.h"

namespace penstock {
namespace media {

std::shared_ptr<const storage::Source> brought_near(std::shared_ptr<const storage::Source> source) {
  return storage::is_url(source->name()) ? storage::keep_recent(std::move(source)) : source;
}

Result<std::unique_ptr<av::Input>> open_input(std::shared_ptr<const storage::Source> source,
                                              const VideoOptions& options) {
  const Result<av::Library*> library = av::library();
  if (!library) return library.error();
  av::InputOptions wanted;
  wanted.kind = av::Kind::video;
  wanted.stream = options.stream;
  wanted.threads = options.ffmpeg_threads;
  wanted.max_pixels = options.max_pixels;
  return (*library)->open(std::move(source), wanted);
}

Result<std::unique_ptr<FrameReader>> open_frames(std::shared_ptr<const storage::Source> source,
                                                 const VideoOptions& options) {
  source = brought_near(std::move(source));
  Result<std::unique_ptr<av::Input>> input = open_input(source, options);
  if (!input) return std::move(input).error();
  const bool kept = options.keep_index != IndexFile::none && !source->name().empty();
  if (kept && options.keep_index == IndexFile::keep) {
    auto found = formats::find_sidecar(source->name());
    if (!found) return std::move(found).error();
    if (*found) {
      Result<FrameIndex> index = index_from(**found, source->stamp(), (*input)->stream());
      if (!index) return std::move(index).error().in_file(source->name());
      return std::make_unique<FrameReader>(*std::move(input), *std::move(index), source->name());
    }
  }
  // Packets of MPEG-1 are put together from their bytes. A table of more packets than a file of
  // this size has room for, be it cut off or not, is not believed.
  const av::StreamInfo& stream = (*input)->stream();
  const bool blank = stream.container.starts_with("mov,") && stream.codec != "mpeg1video" &&
                     stream.samples > 0 && std::uint64_t(stream.samples) / 4 <= source->size() &&
                     has_whole_tables(*source);
  Result<FrameIndex> index = make_index(**input, blank);
  if (!index) return std::move(index).error().in_file(source->name());
  // Each box of a file from afar would be a request.
  if (!blank && stream.container.starts_with("mov,") && index->damage.empty() &&
      !storage::is_url(source->name()) && ends_inside_a_fragment(*source)) {
    index->damage = "the file ends inside a fragment";
  }
  if (!blank && index->damage.empty()) {
    index->damage = early_end(*source, *index, stream.container);
  }
  if (index->frames.empty()) {
    return Error(Code::corrupt, "there is not one frame in it").in_file(source->name());
  }
  // That of a damaged file may be another the next time.
  if (kept && index->damage.empty()) {
    const auto bytes = index_bytes(*index, source->stamp(), (*input)->stream().number);
    if (Status s = formats::keep_sidecar(bytes, source->name()); !s) return std::move(s).error();
  }
  return std::make_unique<FrameReader>(*std::move(input), *std::move(index), source->name());
}

Result<std::int64_t> frame_at(const FrameIndex& index, double seconds) {
  if (!(seconds >= 0) || seconds >= index.duration) {
    return Error(Code::out_of_range, "no frame is shown at " + std::to_string(seconds) +
                                         " s: the clip is " + std::to_string(index.duration) +
                                         " s long");
  }
  // A time that was rounded to a microsecond is that of its frame.
  const auto after = std::upper_bound(index.times.begin(), index.times.end(), seconds + 1e-6);
  return std::max<std::int64_t>(after - index.times.begin() - 1, 0);
}

Result<VideoInfo> info_of(FrameReader& reader) {
  const FrameIndex& index = reader.index();
  const av::StreamInfo& stream = reader.input().stream();
  VideoInfo info;
  info.container = stream.container;
  info.codec = stream.codec;
  info.width = stream.width;
  info.height = stream.height;
  info.frames = std::int64_t(index.frames.size());
  info.rate = double(index.frames.size()) / index.duration;
  info.duration = index.duration;
  info.start = index.start;
  info.rotation = stream.rotation;
  info.mirrored = stream.mirrored;
  info.damage = index.damage;
  for (std::size_t i = 0; i < index.frames.size(); ++i) {
    if (index.packets[index.frames[i]].key) info.key_frames.push_back(std::int64_t(i));
  }
  Result<av::Picture> look = reader.look();
  if (!look) return std::move(look).error();
  info.pixel_format = look->format;
  info.bits = look->bits;
  info.alpha = look->alpha;
  return info;
}

Result<VideoFrames> read_frames(FrameReader& reader, std::span<const std::int64_t> numbers,
                                const PaintRequest& request, const ReadOptions& options,
                                const RandomStream& random) {
  if (Status fine = check(request.crop); !fine) return std::move(fine).error();
  if (channels_of(request.mode) == 0 || request.mode == PixelMode::index) {
    return Error(Code::invalid_argument, "the mode of a video is RGB, RGBA, BGR or L");
  }
  VideoFrames frames;
  Painter painter(request, random, [&](const FinishSpec& finish) -> Result<std::byte*> {
    const auto count = std::int64_t(numbers.size());
    const std::int64_t h = finish.height, w = finish.width, c = finish.channels;
    Result<Tensor> made = Tensor::empty(
        result_pool(), finish.type,
        finish.layout == ImageLayout::hwc ? Dims{count, h, w, c} : Dims{count, c, h, w});
    if (!made) return std::move(made).error();
    frames.pixels = *std::move(made);
    return frames.pixels.raw();
  });
  if (numbers.empty()) {
    av::Picture like;  // none of them is shown, and they have a size
    like.width = reader.input().stream().width;
    like.height = reader.input().stream().height;
    if (Status begun = painter.begin(like); !begun) return std::move(begun).error();
    return frames;
  }
  Result<ReadReport> report = reader.read(numbers, options, painter);
  if (!report) return std::move(report).error();
  frames.failure = std::move(report->failure);
  // What is there moves together.
  const std::size_t bytes = numbers.empty() ? 0 : frames.pixels.nbytes() / numbers.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!report->there[i]) continue;
    std::byte* const to = frames.pixels.raw() + frames.numbers.size() * bytes;
    std::byte* const from = frames.pixels.raw() + i * bytes;
    if (to != from) std::copy_n(from, bytes, to);
    frames.numbers.push_back(numbers[i]);
    if (report->damaged[i]) frames.damaged.push_back(numbers[i]);
  }
  if (frames.numbers.empty() && frames.failure) return *std::move(frames.failure);
  if (frames.numbers.size() < numbers.size()) {
    Result<Tensor> part = frames.pixels.slice(0, 0, std::int64_t(frames.numbers.size()));
    if (!part) return std::move(part).error();
    frames.pixels = *std::move(part);
  }
  return frames;
}

}  // namespace media

struct Video::Inside {
  std::unique_ptr<media::FrameReader> reader;
};

Video::Video(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Video::Video(Video&&) noexcept = default;
Video& Video::operator=(Video&&) noexcept = default;
Video::~Video() = default;

Result<Video> Video::open(const std::string& name, const VideoOptions& options) {
  Result<std::shared_ptr<const storage::Source>> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  auto reader = media::open_frames(*std::move(source), options);
  if (!reader) return std::move(reader).error();
  return Video(std::make_unique<Inside>(Inside{*std::move(reader)}));
}

Result<Video> Video::open(std::span<const std::byte> bytes, const VideoOptions& options) {
  auto reader = media::open_frames(storage::source_over(bytes, ""), options);
  if (!reader) return std::move(reader).error();
  return Video(std::make_unique<Inside>(Inside{*std::move(reader)}));
}

std::int64_t Video::size() const noexcept {
  return std::int64_t(inside_->reader->index().frames.size());
}

std::span<const double> Video::times() const noexcept {
  return inside_->reader->index().times;
}

Result<std::int64_t> Video::frame_at(double seconds) const {
  return media::frame_at(inside_->reader->index(), seconds);
}

Result<VideoInfo> Video::info() {
  return media::info_of(*inside_->reader);
}

Result<VideoFrames> Video::read(std::span<const std::int64_t> numbers,
                                const FrameOptions& options) {
  media::FrameReader& reader = *inside_->reader;
  media::PaintRequest request;
  request.crop.crop = options.crop;
  if (options.size) request.crop.size = Size{options.size->first, options.size->second};
  request.crop.resize_short = options.resize_short;
  request.crop.centre = options.centre_crop;
  request.crop.filter = options.filter;
  request.mode = options.mode;
  if (options.apply_rotation)
    request.orientation = media::av::orientation_of(reader.input().stream());
  return media::read_frames(reader, numbers, request, {options.strict, options.partial},
                            RandomStream(RandomKey(0, 0), 0));
}

}  // namespace penstock

#include "media/video/times.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::media {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;

bool is_absurd(std::int64_t time) {
  return time < -kMost || time > kMost;
}

// The same where nothing is known of when packets are decoded. What is in front of a key frame is
// shown before it: one that is shown before the last key frame, or further back than pictures ever
// wait for others, belongs to another stream.
std::vector<std::uint32_t> parts_by_keys(const FrameIndex& index) {
  constexpr std::int64_t kMostWaiting = 16;
  std::vector<std::uint32_t> parts = {0};
  std::int64_t first = av::kNoTime, latest = av::kNoTime, key = av::kNoTime, count = 0;
  for (std::size_t i = 0; i < index.packets.size(); ++i) {
    const IndexedPacket& one = index.packets[i];
    if (one.pts == av::kNoTime) continue;
    if (is_absurd(one.pts)) return {0};
    if (one.key && count > 0) {
      const std::int64_t step = (latest - first) / std::max<std::int64_t>(count - 1, 1);
      const bool far = (latest - one.pts - 1) / kMostWaiting >= std::max<std::int64_t>(step, 1);
      if (one.pts <= key || far) {
        parts.push_back(std::uint32_t(i));
        count = 0;
      }
    }
    if (one.key) key = one.pts;
    first = count == 0 ? one.pts : std::min(first, one.pts);
    latest = count == 0 ? one.pts : std::max(latest, one.pts);
    ++count;
  }
  return parts;
}

// The first packets of the parts. A packet that is shown before the one in front of it is decoded
// belongs to another stream.
std::vector<std::uint32_t> parts_of(const FrameIndex& index, const av::StreamInfo& stream) {
  const auto is_known = [](const IndexedPacket& one) { return one.dts != av::kNoTime; };
  if (std::none_of(index.packets.begin(), index.packets.end(), is_known)) {
    return parts_by_keys(index);
  }
  constexpr std::int64_t kTurn = std::int64_t(1) << 31, kHalfTurn = std::int64_t(1) << 32;
  const bool mpeg = stream.container == "mpegts" || stream.container == "mpeg";
  std::vector<std::uint32_t> parts = {0};
  std::int64_t first = 0, last = 0;
  int count = 0;  // of the packets of this part
  for (std::size_t i = 0; i < index.packets.size(); ++i) {
    const IndexedPacket& one = index.packets[i];
    if (one.pts == av::kNoTime || one.dts == av::kNoTime) continue;
    if (is_absurd(one.pts) || is_absurd(one.dts)) return {0};
    std::int64_t decoded = one.dts;
    // Of FLV only the times of presentation have been made to run on.
    if (stream.container == "flv") {
      decoded += std::int64_t(std::round(double(one.pts - one.dts) / double(kTurn))) * kTurn;
    }
    // One that is a little late among others is only that, unless a key frame says more.
    const bool back = count > 0 && decoded < last && one.pts < last;
    // FFmpeg takes a time far before the first for one that has turned over.
    const bool turned = count > 0 && mpeg && decoded - last > kHalfTurn;
    if (turned ||
        (back && (one.key || last - decoded >= 2 * (last - first) / std::max(count - 1, 1)))) {
      parts.push_back(std::uint32_t(i));
      count = 0;
    }
    if (count++ == 0) first = decoded;
    last = decoded;
  }
  return parts;
}

struct Part {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  std::int64_t frames = 0;
};

}  // namespace

std::vector<std::int64_t> shown_times(const FrameIndex& index, const av::StreamInfo& stream) {
  const std::vector<std::uint32_t> begins = parts_of(index, stream);
  std::vector<std::int64_t> shown;
  shown.reserve(index.frames.size());
  // Also of packets of which nothing is known but when they are shown.
  const bool absurd =
      std::any_of(index.frames.begin(), index.frames.end(),
                  [&](std::uint32_t frame) { return is_absurd(index.packets[frame].pts); });
  if (begins.size() == 1 || absurd) {
    for (const std::uint32_t frame : index.frames) shown.push_back(index.packets[frame].pts);
    std::sort(shown.begin(), shown.end());
    return shown;
  }
  std::vector<Part> parts(begins.size());
  const auto part_of = [&begins](std::uint32_t packet) {
    return std::size_t(std::upper_bound(begins.begin(), begins.end(), packet) - begins.begin()) - 1;
  };
  for (const std::uint32_t frame : index.frames) {
    Part& part = parts[part_of(frame)];
    const std::int64_t time = index.packets[frame].pts;
    part.first = std::min(part.first, time), part.last = std::max(part.last, time);
    ++part.frames;
  }
  // How much later each part is than its times say.
  std::vector<std::int64_t> later(parts.size(), 0);
  const double rate = stream.rate > 0 ? stream.rate : 25;
  std::int64_t step =
      stream.tick > 0 ? std::llround(std::min(1 / (rate * stream.tick), double(kMost) / 2)) : 1;
  std::int64_t end = 0;
  bool begun = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.frames == 0) continue;
    if (part.frames > 1) step = (part.last - part.first) / (part.frames - 1);
    if (begun) later[i] = end - part.first;
    end = std::min(part.last + later[i] + step, kMost);
    begun = true;
  }
  for (const std::uint32_t frame : index.frames) {
    shown.push_back(index.packets[frame].pts + later[part_of(frame)]);
  }
  std::sort(shown.begin(), shown.end());
  return shown;
}

}  // namespace penstock::media

// Small clips, damaged: opened, a few frames read, and decoded as sound. FFmpeg itself is not
// instrumented; what is looked for is in our own demuxing, indexing, seeking and painting, and
// whatever FFmpeg writes outside memory of ours.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/audio.h"
#include "penstock/video.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  if (size > 1 << 17) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  Result<Video> video = Video::open(bytes, {.max_pixels = 1 << 16});
  if (video) {
    (void)video->info();
    std::vector<std::int64_t> numbers;
    for (const std::int64_t number : {video->size() - 1, video->size() / 2, std::int64_t(0)}) {
      numbers.push_back(number);
    }
    (void)video->read(numbers, {.partial = true});
    (void)video->read(numbers, {.size = {{16, 24}}, .strict = true});
    (void)video->frame_at(0.5);
  }
  (void)load_audio(bytes, {.start = 0.05, .duration = 0.1, .partial = true});
  return 0;
}

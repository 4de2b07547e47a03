// Frames of the small clips of the fuzz corpus. Without FFmpeg there is nothing to test.
#include "penstock/video.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "penstock/audio.h"

namespace penstock {
namespace {

std::string corpus(const char* name) {
  return std::string("fuzz/corpus/clip/") + name;
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

class Clips : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Result<Video> video = Video::open(corpus("h264.mp4"));
    if (!video && video.error().code() == Code::unsupported) GTEST_SKIP() << "no FFmpeg";
  }
};

TEST_P(Clips, every_frame_alone_is_the_one_of_a_pass_over_all) {
  Result<Video> video = Video::open(corpus(GetParam()));
  ASSERT_TRUE(video) << video.error().message();
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < video->size(); ++i) all.push_back(i);
  const Result<VideoFrames> whole = video->read(all);
  ASSERT_TRUE(whole) << whole.error().message();
  ASSERT_EQ(whole->numbers, all);
  const std::size_t bytes = whole->pixels.nbytes() / all.size();
  for (const std::int64_t i : all) {
    const Result<VideoFrames> one = video->read(std::vector{i});
    ASSERT_TRUE(one) << one.error().message();
    ASSERT_EQ(one->pixels.nbytes(), bytes);
    EXPECT_EQ(std::memcmp(one->pixels.raw(), whole->pixels.raw() + std::size_t(i) * bytes, bytes),
              0)
        << "frame " << i;
  }
}

TEST_P(Clips, bytes_give_what_the_file_gives) {
  const std::vector<std::byte> bytes = bytes_of(corpus(GetParam()));
  Result<Video> file = Video::open(corpus(GetParam())), memory = Video::open(bytes);
  ASSERT_TRUE(file && memory);
  const std::vector<std::int64_t> last = {file->size() - 1};
  const FrameOptions small{.size = {{16, 24}}};
  const Result<VideoFrames> a = file->read(last, small), b = memory->read(last, small);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->pixels.shape(), (Dims{1, 16, 24, 3}));
  EXPECT_EQ(std::memcmp(a->pixels.raw(), b->pixels.raw(), a->pixels.nbytes()), 0);
  EXPECT_EQ(file->read(std::vector{file->size()}).error().code(), Code::out_of_range);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Clips,
                         testing::Values("h264.mp4", "mpeg2.ts", "mpeg4.avi", "vp9.webm"));

TEST_F(Clips, what_was_cut_off_is_an_error_or_a_part) {
  for (const char* name : {"cut_h264.mp4", "flipped_h264.mp4"}) {
    Result<Video> video = Video::open(corpus(name));
    if (!video) {
      const Code code = video.error().code();
      EXPECT_TRUE(code == Code::corrupt || code == Code::invalid_argument) << name;
      continue;
    }
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < video->size(); ++i) all.push_back(i);
    const Result<VideoFrames> part = video->read(all, {.partial = true});
    EXPECT_TRUE(part || part.error().code() == Code::corrupt) << name;
  }
}

TEST_F(Clips, parts_of_a_sound_are_those_of_the_whole) {
  for (const char* name : {"tone.mp3", "tone.opus", "tone.wav"}) {
    const Result<Audio> whole = load_audio(corpus(name));
    ASSERT_TRUE(whole) << name << ": " << whole.error().message();
    const Result<Audio> part = load_audio(corpus(name), {.start = 0.05, .duration = 0.02});
    ASSERT_TRUE(part) << name;
    const std::int64_t first = std::int64_t(0.05 * whole->sample_rate + 0.5);
    const std::int64_t count = part->samples.shape()[1];
    ASSERT_GT(count, 0);
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(part->samples.data<float>()[i], whole->samples.data<float>()[first + i]) << name;
    }
  }
}

}  // namespace
}  // namespace penstock

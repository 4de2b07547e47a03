// Video: frames of a clip by their numbers.
//
//   Result<Video> video = Video::open("clip.mp4");
//   const std::vector<std::int64_t> numbers = {0, 30, 60};
//   Result<VideoFrames> frames = video->read(numbers, {.size = {{224, 224}}});
//   use(frames->pixels);  // uint8, frames x height x width x channels
//
// Frame i is the i-th picture that a decode of the whole stream gives, in order of presentation:
// for every i, wherever key frames are. Times are in seconds from the first frame.
//
// FFmpeg's libraries do the decoding. They are loaded when the first clip is opened; where they are
// missing, open() answers with an Error (unsupported) that says what to install.
//
// Thread safety: a Video is for one thread at a time; distinct ones may be used at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/error.h"
#include "penstock/image.h"
#include "penstock/media.h"
#include "penstock/tensor.h"

namespace penstock {

// Is the index of frames kept in a file beside the video (or in the cache folder, where that cannot
// be written), and used the next time? One that does not fit is an Error, unless it is made anew.
enum class IndexFile : std::uint8_t { none, keep, refresh };

struct VideoOptions {
  int stream = -1;         // the number of the stream in the file; negative: the best one
  int ffmpeg_threads = 1;  // that the decoder may use
  std::int64_t max_pixels = kMaxPixels;  // of a picture
  IndexFile keep_index = IndexFile::none;
};

struct VideoInfo {
  std::string container;  // as FFmpeg calls it
  std::string codec;
  std::int64_t width = 0, height = 0;  // as stored, before rotation
  std::int64_t frames = 0;
  double rate = 0;           // frames a second, on the average
  double duration = 0;       // seconds, from the first frame to the end of the last
  double start = 0;          // of the first frame, as the file counts time
  int rotation = 0;          // degrees that pictures have to be turned clockwise: 0, 90, 180 or 270
  bool mirrored = false;     // and, before that, mirrored: left becomes right
  std::string pixel_format;  // as FFmpeg calls it: "yuv420p"
  int bits = 8;              // of a sample
  bool alpha = false;
  std::vector<std::int64_t> key_frames;  // their numbers
  std::string damage;                    // of the container, in words; empty: none was found
};

struct FrameOptions {
  std::optional<std::pair<std::int64_t, std::int64_t>> size = {};  // height, width
  std::optional<Rect> crop = {};                  // cut out first, in upright pixels
  bool centre_crop = false;                       // size is cut out of the middle at the end
  std::optional<std::int64_t> resize_short = {};  // the short side becomes this long first
  Filter filter = Filter::bilinear;
  PixelMode mode = PixelMode::rgb;  // or rgba, bgr, l
  bool apply_rotation = false;      // and mirror
  bool strict = false;              // a frame that the decoder knows to be damaged is an Error
  bool partial = false;             // frames that cannot be decoded are left out
};

struct VideoFrames {
  Tensor pixels;                      // uint8: frames x height x width x channels
  std::vector<std::int64_t> numbers;  // of the frames that are there
  std::vector<std::int64_t> damaged;  // of those that the decoder knows to be damaged
  std::optional<Error> failure;       // of the first that is not there
};

class Video {
 public:
  static Result<Video> open(const std::string& name, const VideoOptions& options = {});
  // The bytes of a file; they must outlive the Video.
  static Result<Video> open(std::span<const std::byte> bytes, const VideoOptions& options = {});

  Video(Video&&) noexcept;
  Video& operator=(Video&&) noexcept;
  ~Video();

  std::int64_t size() const noexcept;              // frames
  std::span<const double> times() const noexcept;  // of the frames
  // The number of the frame that is shown at this time.
  Result<std::int64_t> frame_at(double seconds) const;
  // Looks into the first packet for what the container does not say.
  Result<VideoInfo> info();
  // Frames in any order, also twice. Those that lie close together share one pass of the decoder.
  Result<VideoFrames> read(std::span<const std::int64_t> numbers, const FrameOptions& options = {});

 private:
  struct Inside;
  explicit Video(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace penstock

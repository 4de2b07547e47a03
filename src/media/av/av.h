// What video and audio need of FFmpeg: packets of one stream, and what its decoder makes of them.
//
// FFmpeg's libraries are used by a shared library of its own, libpenstock_av, which is loaded when
// a clip is first opened (load.h). Everything that crosses the border is in this file; no header of
// FFmpeg is included on this side of it.
//
// Thread safety: a Library may be used from any thread; an Input and what it gives are for one
// thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "penstock/error.h"
#include "penstock/image.h"
#include "penstock/media.h"
#include "storage/source.h"

namespace penstock::media::av {

// Both sides must have been built with the same one.
inline constexpr int kInterface = 11;

enum class Kind : std::uint8_t { video, audio };

// A time in units of the stream's time base that is not known.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

struct InputOptions {
  Kind kind = Kind::video;
  int stream = -1;  // the number of the stream in the file; negative: the best one
  int threads = 1;  // of the decoder
  std::int64_t max_pixels = kMaxPixels;
  int buffer = 64 * 1024;  // bytes that are read at a time
  // Packets are looked at even where the header says all that a decoder needs: it may be wrong, and
  // not say how long the sound is.
  bool look = true;
};

struct StreamInfo {
  int number = 0;         // in the file
  std::string container;  // as FFmpeg calls it: "mov,mp4,m4a,3gp,3g2,mj2"
  std::string codec;      // "h264"
  double tick = 0;        // seconds of one unit of pts and dts
  std::int64_t tick_num = 0, tick_den = 1;
  std::int64_t start = kNoTime;
  double duration = 0;          // what the container says, in seconds; 0: nothing
  bool exact_duration = false;  // to the sample
  // Video.
  std::int64_t width = 0, height = 0;  // as stored
  double rate = 0;                     // mean frames per second as the container says; 0: nothing
  int rotation = 0;                    // degrees that the picture has to be turned clockwise
  bool mirrored = false;               // and, before that, mirrored: left becomes right
  bool interlaced = false;             // fields may come in packets of their own
  bool reorders = false;     // pictures may be shown in another order than that of packets
  bool in_order = false;     // they never are
  bool keys_hold = false;    // packets that are all called key frames may well be that
  bool alpha = false;        // VP8, VP9: the container holds alpha beside the pictures
  bool one_layer = false;    // HEVC: all pictures are in the lowest temporal layer; else unknown
  std::int64_t samples = 0;  // entries of the container's own table; 0: there is none
  // Audio.
  int sample_rate = 0;
  int channels = 0;
  int bits = 0;                 // of a sample in the file, where that has a meaning
  std::string layout;           // "stereo"
  std::int64_t frame_size = 0;  // samples of each packet; 0: they differ
  bool alone = false;  // each packet is decoded without others, and says how many samples it holds
  // FLAC and MP3 files: samples that there must be, as the header says; 0: it does not. Encoders of
  // MP3 may be one frame out.
  std::int64_t total = 0;
  std::int64_t pre_roll = 0;  // samples that a decoder needs before it is right
};

// As EXIF numbers it: what has to be done to the pictures of a stream.
inline int orientation_of(const StreamInfo& stream) noexcept {
  constexpr int kTurned[] = {1, 6, 3, 8}, kMirrored[] = {2, 7, 4, 5};
  const int turns = stream.rotation / 90 % 4;
  return stream.mirrored ? kMirrored[turns] : kTurned[turns];
}

struct Packet {
  std::int64_t pts = kNoTime, dts = kNoTime, duration = 0;
  std::int64_t pos = -1;  // in the file; negative: not known
  std::int64_t size = 0;
  std::int64_t samples = 0;                    // audio: how many it decodes to; 0: not known
  std::int64_t skip_front = 0, skip_back = 0;  // audio: how many of these are padding
  bool key = false;
  bool discard = false;          // decoded and not shown: an edit list cuts it off
  bool hidden = false;           // never shown: it is only there to be referred to
  bool corrupt = false;          // the container says that it is damaged, or it ends early
  bool celt = false;             // Opus: coded without SILK, whose decoder never forgets
  bool strange = false;          // FLAC: it does not begin as a frame does; MP3: it is none whole
  std::int64_t first = kNoTime;  // FLAC files: its first sample, as it says itself
};

// Of a picture: what a conversion has to know.
enum class Planes : std::uint8_t {
  other,  // only FFmpeg converts it
  grey,
  yuv420,
  yuv422,
  yuv444,
};
enum class Matrix : std::uint8_t { bt601, bt709, bt2020, other };

// A decoded picture. Its memory belongs to the Input and lives until the next receive() or flush().
struct Picture {
  std::int64_t tag = -1;  // of the packet it came from
  std::int64_t width = 0, height = 0;
  Planes planes = Planes::other;
  std::array<const std::uint8_t*, 3> data{};
  std::array<std::ptrdiff_t, 3> row_bytes{};
  Matrix matrix = Matrix::bt601;  // that of the stream; BT.601 where it says nothing
  bool full_range = false;
  bool left_chroma = true;  // chroma samples stand above the left one of two; else between them
  bool alpha = false;
  int bits = 8;
  bool key = false;
  bool damaged = false;     // the decoder has marked it
  const char* format = "";  // "yuv420p"
};

// Decoded samples, as Picture.
struct Sound {
  std::int64_t tag = -1;
  std::int64_t samples = 0;
  int channels = 0, sample_rate = 0;
  std::int64_t skip_front = 0, skip_back = 0;  // how many are padding, as far as the decoder knows
  bool discard = false;                        // all of them: an edit list cuts them off
  bool damaged = false;
};

// What a key frame is to a decoder that begins with it, as far as its bytes tell.
enum class Start : std::uint8_t {
  clean,
  open,   // H.264 other than IDR: pictures must not be drained, or the decoder keeps them back
  never,  // H.264: the beginning of a recovery over several pictures
};

// How the decoder treats a packet whose picture nobody asked for.
enum class Wanted : std::uint8_t {
  picture,
  references,  // a picture that no other refers to need not be decoded
  parameters,  // no picture at all: only what it would look like
};

// What a decoder must know of pictures before it can decode one, as a packet carries it: a sequence
// or picture parameter set of H.264 or HEVC, the head of a layer of MPEG-4, the colours of indices.
struct ParameterSet {
  static constexpr int kHeader = -1;     // what the container says, in the place of all else
  static constexpr int kPalette = 1000;  // as the container says it, beside all else
  int kind = 0, number = 0;              // takes the place of the one that has the same
  bool own = false;                      // the container's header has said it at the beginning
  std::vector<std::uint8_t> bytes;
};

// Turns sounds of an Input into samples of one type, rate and number of channels.
class Resampler {
 public:
  virtual ~Resampler() = default;
  // How many samples per channel `into` must have room for, for the next convert of `samples`.
  virtual std::int64_t room(std::int64_t samples) const = 0;
  // From the sound last received, beginning with sample `first`, `count` of them. `into` has a
  // pointer a channel, or one for all where samples are interleaved. Answers how many there are.
  virtual Result<std::int64_t> convert(std::int64_t first, std::int64_t count,
                                       std::uint8_t* const* into, std::int64_t room) = 0;
  // What is left inside, and `least` samples at least, which may be up to `room`: the filter goes
  // on into what comes after the end, first a mirror image, then silence.
  virtual Result<std::int64_t> finish(std::uint8_t* const* into, std::int64_t room,
                                      std::int64_t least) = 0;
};

struct SampleForm {
  int sample_rate = 0;   // 0: as it is
  int channels = 0;      // 0: as it is
  bool floating = true;  // float32, else int16
  bool planar = true;
};

class Input {
 public:
  virtual ~Input() = default;

  virtual const StreamInfo& stream() const noexcept = 0;

  // The next packet of the stream, which is kept until the call after this; false at the end. An
  // Error names the file and the place.
  virtual Result<bool> read(Packet& packet) = 0;
  // From now on packets are read without their bytes: for an index, where the container alone
  // (an MP4 that is not fragmented) says all about them.
  virtual void read_blank(bool blank) = 0;
  // Goes to the packet at `time` or one before it, roughly: who asks sees from the next packet
  // where it is.
  virtual Status seek(std::int64_t time) = 0;
  // Goes to a byte of the file. The first packets that come may be what is left of another one, or
  // not say where they are.
  virtual Status seek_byte(std::int64_t pos) = 0;
  // Goes to the first packet, whatever has happened.
  virtual Status rewind() = 0;

  // Messages of the demuxer that told of damage so far, and the first of them.
  virtual std::int64_t complaints() const noexcept = 0;
  virtual const std::string& complaint() const noexcept = 0;

  // Of the packet last read, which the container calls a key frame: may decoding begin with it?
  virtual Start start() const noexcept = 0;
  // Of the packet last read, to be asked of each, from the first one on: is its picture shown
  // before that of the packet before it, as the stream itself says? False where it does not say.
  virtual bool shown_early() = 0;
  // Of the packet last read: does it hold two pictures, the second of which is shown first? Only
  // MPEG-4 in AVI may.
  virtual bool holds_two() const = 0;

  // Puts the parameter sets that the packet last read carries behind `sets`; true: with these alone
  // it can be decoded. Of packets without their bytes only what the container says is known.
  virtual bool parameter_sets(std::vector<ParameterSet>& sets) const = 0;
  // The next packet that is sent is decoded with what the container's header said at the beginning
  // and these sets, whatever the decoder has been told since. Until flush().
  virtual void begin_with(std::vector<ParameterSet> sets) = 0;

  // Pictures that may have to wait for others before they can be shown, while none is waiting. As
  // long as nothing is said, as many as the stream allows.
  virtual void expect_reorder(int pictures) = 0;
  // Decodes the packet last read. What it gives comes back with `tag`, in order of presentation,
  // unless the container wants it left out.
  // Damaged packets are no Error: see damages().
  virtual Status send(std::int64_t tag, Wanted wanted) = 0;
  virtual Status drain() = 0;  // there are no more packets until flush()
  // False: it wants another packet; or, after drain(), there is nothing left.
  virtual Result<bool> receive(Picture& picture) = 0;
  virtual Result<bool> receive(Sound& sound) = 0;
  virtual void flush() = 0;  // forgets all that was sent
  // True, once: a picture is damaged, and may show what was in memory before. What is decoded again
  // from before it, after flush(), comes out the same each time.
  virtual bool must_repeat() noexcept = 0;
  // How often the decoder has found damage so far, and what it said last.
  virtual std::int64_t damages() const noexcept = 0;
  virtual const std::string& damage() const noexcept = 0;
  // How often pictures of H.264 were missing in front of one, as their numbers say, and the decoder
  // has put others in their place. That need not be damage: where decoding begins at a key frame
  // other than IDR, all before it are missing.
  virtual std::int64_t gaps() const noexcept = 0;

  // The picture last received as interleaved pixels, of its own size.
  virtual Status convert(PixelMode mode, std::uint8_t* out, std::ptrdiff_t row_bytes) = 0;
  virtual Result<std::unique_ptr<Resampler>> resampler(const SampleForm& form) = 0;
};

// A FLAC file that is as it should be, read by libFLAC, which is faster than FFmpeg and gives the
// same integers.
class FlacFile {
 public:
  virtual ~FlacFile() = default;
  int sample_rate = 0, channels = 0, bits = 0;
  std::int64_t samples = 0;  // of each channel
  // Samples `first` to `first + count`, a row a channel: float32, or int16. False: something is
  // wrong with the file, and FFmpeg must be asked what it is.
  virtual bool read(std::int64_t first, std::int64_t count, bool floating,
                    std::uint8_t* const* rows) = 0;
  // The same in another form, planar, as an Input's Resampler gives it; channels are mixed only
  // where there are one or two. `rows` have room for `room` samples; answers how many there are,
  // `least` or more; negative: as above.
  virtual std::int64_t read_as(const SampleForm& form, std::int64_t first, std::int64_t count,
                               std::uint8_t* const* rows, std::int64_t room,
                               std::int64_t least) = 0;
};

class Library {
 public:
  virtual ~Library() = default;
  virtual int interface() const noexcept = 0;
  virtual std::string version() const = 0;       // "5.1.6: avcodec 59.37.100, ..."
  virtual std::string flac_version() const = 0;  // empty: libFLAC is not part of this build
  virtual Result<std::unique_ptr<Input>> open(std::shared_ptr<const storage::Source> source,
                                              const InputOptions& options) = 0;
  // Null: this is no such file, or libFLAC is not part of this build.
  virtual std::unique_ptr<FlacFile> open_flac(std::shared_ptr<const storage::Source> source) = 0;
  // A FLAC file of interleaved samples, each in the upper `bits` (16 or 24) of its 32.
  virtual Result<std::vector<std::byte>> encode_flac(std::span<const std::int32_t> samples,
                                                     int channels, int sample_rate, int bits) = 0;
};

}  // namespace penstock::media::av

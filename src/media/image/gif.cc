// GIF: the first frame, on a canvas of the screen's size.
//
// Header: "GIF87a" or "GIF89a", screen width and height (2 bytes each), flags, background, aspect;
// then a global palette, then blocks: '!' an extension, ',' an image, ';' the end.
#include <array>
#include <cstring>

#include "media/image/codecs.h"
#include "media/image/little_endian.h"
#include "media/image/lzw.h"
#include "media/image/scratch.h"

namespace penstock::media {
namespace {

bool sniff(Bytes b) noexcept {
  return b.size() >= 6 &&
         (std::memcmp(b.data(), "GIF87a", 6) == 0 || std::memcmp(b.data(), "GIF89a", 6) == 0);
}

struct Frame {
  std::int64_t width = 0, height = 0;  // of the canvas: the screen, or more if the frame sticks out
  std::int64_t x = 0, y = 0, frame_width = 0, frame_height = 0;
  bool interlaced = false;
  bool grey = true;      // every colour of the palette is the grey of its index
  int transparent = -1;  // the index that means nothing is there
  std::array<std::uint8_t, 256 * 3> palette{};
  std::size_t data = 0;  // where the compressed pixels begin: code size, then blocks
};

class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  Result<Frame> first_frame() {
    if (bytes_.size() < 13) return ended();
    Frame frame;
    for (int i = 0; i < 256; ++i) std::memset(&frame.palette[std::size_t(i) * 3], i, 3);
    frame.width = le16(&bytes_[6]);
    frame.height = le16(&bytes_[8]);
    at_ = 13;
    if (!read_palette(bytes_[10], frame)) return ended();
    for (;;) {
      if (at_ >= bytes_.size()) return ended();
      const std::uint8_t kind = bytes_[at_++];
      if (kind == '!') {
        if (!read_extension(frame)) return ended();
      } else if (kind == ',') {
        return read_image(frame);
      } else if (kind == ';') {
        return corrupt("GIF: there is no image in it").at_offset(std::int64_t(at_));
      }
    }
  }

 private:
  Error ended() const {
    return corrupt("GIF: the file ends before the picture does")
        .at_offset(std::int64_t(bytes_.size()));
  }

  bool read_palette(std::uint8_t flags, Frame& frame) {
    if ((flags & 0x80) == 0) return true;
    const std::size_t size = std::size_t(6) << (flags & 7);
    if (size > bytes_.size() - at_) return false;
    frame.grey = true;
    frame.palette.fill(0);  // indices without a colour are black
    for (std::size_t i = 0; i < size; ++i) frame.grey &= bytes_[at_ + i] == i / 3;
    std::memcpy(frame.palette.data(), &bytes_[at_], size);
    at_ += size;
    return true;
  }

  bool read_extension(Frame& frame) {
    constexpr std::uint8_t kGraphicControl = 0xF9;
    if (at_ >= bytes_.size()) return false;
    const std::uint8_t label = bytes_[at_++];
    for (bool first = true;; first = false) {
      if (at_ >= bytes_.size()) return false;
      const std::size_t length = bytes_[at_++];
      if (length == 0) return true;
      if (length > bytes_.size() - at_) return false;
      if (first && label == kGraphicControl && length >= 4 && (bytes_[at_] & 1)) {
        frame.transparent = bytes_[at_ + 3];
      }
      at_ += length;
    }
  }

  Result<Frame> read_image(Frame& frame) {
    if (bytes_.size() - at_ < 9) return ended();
    const std::uint8_t* p = &bytes_[at_];
    frame.x = le16(p), frame.y = le16(p + 2);
    frame.frame_width = le16(p + 4), frame.frame_height = le16(p + 6);
    frame.width = std::max(frame.width, frame.x + frame.frame_width);
    frame.height = std::max(frame.height, frame.y + frame.frame_height);
    const std::uint8_t flags = p[8];
    frame.interlaced = (flags & 0x40) != 0;
    at_ += 9;
    if (!read_palette(flags, frame)) return ended();
    frame.data = at_;
    return frame;
  }

  Bytes bytes_;
  std::size_t at_ = 0;
};

Native native_of(const Frame& frame, PixelMode mode) {
  const bool alpha =
      frame.transparent >= 0 && (mode == PixelMode::rgba || mode == PixelMode::unchanged);
  if (mode == PixelMode::index) return Native::l;
  if (frame.grey) return alpha ? Native::la : Native::l;
  return alpha ? Native::rgba : Native::rgb;
}

Result<ImageInfo> info(Bytes bytes) {
  Result<Frame> frame = Reader(bytes).first_frame();
  if (!frame) return std::move(frame).error();
  if (Status s = check_size(frame->width, frame->height, INT64_MAX); !s)
    return std::move(s).error();
  return ImageInfo{ImageFormat::gif,
                   frame->width,
                   frame->height,
                   channels_of(native_of(*frame, PixelMode::unchanged)),
                   8,
                   1};
}

// Where the n-th row of the data belongs: every 8th from 0, every 8th from 4, every 4th from 2,
// every 2nd from 1.
std::int64_t interlaced_row(std::int64_t n, std::int64_t height) {
  for (const auto& [start, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
    const std::int64_t rows = height > start ? (height - start + step - 1) / step : 0;
    if (n < rows) return start + n * step;
    n -= rows;
  }
  return 0;
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Result<Frame> read = Reader(bytes).first_frame();
  if (!read) return std::move(read).error();
  const Frame& frame = *read;
  if (Status s = check_size(frame.width, frame.height, options.max_pixels); !s) return s;

  const std::size_t pixels = std::size_t(frame.frame_width * frame.frame_height);
  ScratchLease indices(ScratchUse::raw, pixels + std::size_t(frame.width));
  if (!indices) return Error(Code::out_of_memory, "GIF: no memory for the picture");
  Result<std::size_t> made = lzw_decode_gif(bytes.subspan(frame.data), indices.data(), pixels);
  if (!made) return std::move(made).error();
  if (*made < pixels) {
    if (options.strict) return corrupt("GIF: less picture data than the header announces");
    std::memset(indices.data() + *made, 0, pixels - *made);
  }

  const Native native = native_of(frame, options.mode);
  if (Status s = writer.begin(frame.width, frame.height, native); !s) return s;
  ScratchLease order(ScratchUse::order, std::size_t(frame.height) * sizeof(std::int64_t));
  if (!order) return Error(Code::out_of_memory, "GIF: no memory for the picture");
  auto* const source = reinterpret_cast<std::int64_t*>(order.data());
  for (std::int64_t n = 0; n < frame.frame_height; ++n) {
    source[frame.interlaced ? interlaced_row(n, frame.frame_height) : n] = n;
  }
  std::uint8_t* const line = indices.data() + pixels;
  const std::uint8_t background = frame.transparent >= 0 ? std::uint8_t(frame.transparent) : 0;
  for (std::int64_t y = 0; y < frame.height; ++y) {
    std::memset(line, background, std::size_t(frame.width));
    const std::int64_t inside = y - frame.y;
    if (inside >= 0 && inside < frame.frame_height) {
      std::memcpy(line + frame.x, indices.data() + source[inside] * frame.frame_width,
                  std::size_t(frame.frame_width));
    }
    std::uint8_t* to = writer.row(y);
    for (std::int64_t x = 0; x < frame.width; ++x) {
      const std::uint8_t index = line[x];
      if (native == Native::l || native == Native::la) {
        *to++ = index;
      } else {
        std::memcpy(to, &frame.palette[std::size_t(index) * 3], 3);
        to += 3;
      }
      if (native == Native::la || native == Native::rgba) {
        *to++ = index == frame.transparent ? 0 : 255;
      }
    }
    writer.commit(y);
  }
  return {};
}

}  // namespace

const Codec kGifCodec = {ImageFormat::gif, "GIF", sniff, info, decode};

}  // namespace penstock::media

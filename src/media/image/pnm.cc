// PNM: P1 to P6, plain and raw, any maxval.
//
// "P" and a digit, then width, height and (not for bitmaps) maxval in decimal, separated by white
// space and comments; one white-space character; then the samples. Samples are scaled by
// 255 / maxval and rounded to even, as Pillow does; grey with a maxval above 255 keeps 16 bits.
#include <cmath>
#include <cstring>

#include "media/image/codecs.h"

namespace penstock::media {
namespace {

bool is_space(std::uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool sniff(Bytes b) noexcept {
  return b.size() >= 3 && b[0] == 'P' && b[1] >= '1' && b[1] <= '6' && is_space(b[2]);
}

class Scanner {
 public:
  Scanner(Bytes bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  std::size_t at() const { return at_; }

  // The next decimal number, and the one character after it; -1 if there is none or it is too long.
  std::int64_t number() {
    skip_space();
    std::int64_t value = -1;
    for (int digits = 0; at_ < bytes_.size(); ++at_) {
      const std::uint8_t c = bytes_[at_];
      if (c < '0' || c > '9') break;
      if (++digits > 10) return -1;
      value = (value < 0 ? 0 : value) * 10 + (c - '0');
    }
    if (at_ < bytes_.size()) {
      if (!is_space(bytes_[at_]) && bytes_[at_] != '#') return -1;
      if (bytes_[at_] != '#') ++at_;
    }
    return value;
  }

  // A single '0' or '1'; -1 otherwise.
  int bit() {
    skip_space();
    if (at_ >= bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return -1;
    return bytes_[at_++] - '0';
  }

 private:
  void skip_space() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n' && bytes_[at_] != '\r') ++at_;
        if (at_ == bytes_.size()) return;
      } else if (!is_space(bytes_[at_])) {
        return;
      }
    }
  }

  Bytes bytes_;
  std::size_t at_;
};

struct Header {
  int kind = 0;  // 1 to 6
  std::int64_t width = 0, height = 0;
  std::int64_t maxval = 1;
  std::size_t data = 0;

  bool plain() const { return kind <= 3; }
  bool bitmap() const { return kind == 1 || kind == 4; }
  int channels() const { return kind == 3 || kind == 6 ? 3 : 1; }
  bool deep() const { return maxval > 255; }
  Native native(PixelMode mode) const {
    if (channels() == 1) return deep() ? Native::l16 : Native::l;
    return deep() && mode == PixelMode::unchanged ? Native::rgb16 : Native::rgb;
  }
};

Result<Header> read_header(Bytes bytes) {
  if (!sniff(bytes)) return corrupt("PNM: no header");
  Header header;
  header.kind = bytes[1] - '0';
  Scanner scanner(bytes, 2);
  header.width = scanner.number();
  header.height = scanner.number();
  if (!header.bitmap()) header.maxval = scanner.number();
  if (header.width < 0 || header.height < 0 || header.maxval < 1 || header.maxval > 65535) {
    return corrupt("PNM: the header is damaged").at_offset(std::int64_t(scanner.at()));
  }
  header.data = scanner.at();
  if (Status s = check_size(header.width, header.height, INT64_MAX); !s)
    return std::move(s).error();
  return header;
}

// Python's round(value / maxval * top).
class Scale {
 public:
  Scale(std::int64_t maxval, int top) : maxval_(double(maxval)), top_(top) {
    for (int v = 0; v < 256; ++v) table_[v] = std::uint16_t(exact(v));
  }
  std::uint16_t operator()(std::int64_t value) const {
    return value < 256 ? table_[value] : exact(value);
  }

 private:
  std::uint16_t exact(std::int64_t value) const {
    const double scaled = std::nearbyint(double(value) / maxval_ * double(top_));
    return std::uint16_t(scaled > top_ ? top_ : scaled);
  }
  double maxval_;
  int top_;
  std::uint16_t table_[256];
};

Error ended(Bytes bytes) {
  return corrupt("PNM: the file ends before the picture does")
      .at_offset(std::int64_t(bytes.size()));
}

Status decode_bits(Bytes bytes, const Header& header, PixelWriter& writer) {
  const std::int64_t row_bytes = (header.width + 7) / 8;
  Scanner scanner(bytes, header.data);
  for (std::int64_t y = 0; y < header.height; ++y) {
    std::uint8_t* to = writer.row(y);
    const std::uint8_t* from = bytes.data() + header.data + y * row_bytes;
    for (std::int64_t x = 0; x < header.width; ++x) {
      const int bit = header.plain() ? scanner.bit() : from[x / 8] >> (7 - x % 8) & 1;
      if (bit < 0) return corrupt("PNM: not a bit").at_offset(std::int64_t(scanner.at()));
      to[x] = bit ? 0 : 255;
    }
    writer.commit(y);
  }
  return {};
}

Status decode_samples(Bytes bytes, const Header& header, Native native, PixelWriter& writer) {
  const std::int64_t samples = header.width * header.channels();
  const bool wide = bits_of(native) == 16;
  const Scale scale(header.maxval, wide ? 65535 : 255);
  Scanner scanner(bytes, header.data);
  const std::uint8_t* from = bytes.data() + header.data;
  for (std::int64_t y = 0; y < header.height; ++y) {
    std::uint8_t* to = writer.row(y);
    if (!header.plain() && header.maxval == 255) {
      std::memcpy(to, from, std::size_t(samples));
      from += samples;
    } else {
      for (std::int64_t i = 0; i < samples; ++i) {
        std::int64_t value;
        if (header.plain()) {
          value = scanner.number();
          if (value < 0 || value > header.maxval) {
            return corrupt("PNM: not a sample").at_offset(std::int64_t(scanner.at()));
          }
        } else if (header.deep()) {
          value = from[0] << 8 | from[1];
          from += 2;
        } else {
          value = *from++;
        }
        const std::uint16_t scaled = scale(value);
        if (wide) {
          std::memcpy(to + 2 * i, &scaled, 2);
        } else {
          to[i] = std::uint8_t(scaled);
        }
      }
    }
    writer.commit(y);
  }
  return {};
}

Result<ImageInfo> info(Bytes bytes) {
  Result<Header> header = read_header(bytes);
  if (!header) return std::move(header).error();
  return ImageInfo{ImageFormat::pnm,
                   header->width,
                   header->height,
                   header->channels(),
                   header->bitmap() ? 1
                   : header->deep() ? 16
                                    : 8,
                   1};
}

Status decode(Bytes bytes, const DecodeOptions& options, PixelWriter& writer) {
  Result<Header> read = read_header(bytes);
  if (!read) return std::move(read).error();
  const Header& header = *read;
  if (Status s = check_size(header.width, header.height, options.max_pixels); !s) return s;
  // The least the samples can take: a plain one is a digit and a space, the last without.
  const std::size_t left = bytes.size() - header.data;
  const std::int64_t samples = header.width * header.height * header.channels();
  const std::int64_t needed = header.kind == 4   ? (header.width + 7) / 8 * header.height
                              : header.kind == 1 ? samples
                              : header.plain()   ? 2 * samples - 1
                                                 : samples * (header.deep() ? 2 : 1);
  if (std::size_t(needed) > left) return ended(bytes);
  const Native native = header.native(options.mode);
  if (Status s = writer.begin(header.width, header.height, native); !s) return s;
  return header.bitmap() ? decode_bits(bytes, header, writer)
                         : decode_samples(bytes, header, native, writer);
}

}  // namespace

const Codec kPnmCodec = {ImageFormat::pnm, "PNM", sniff, info, decode};

}  // namespace penstock::media

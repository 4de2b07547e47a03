// JpegReader: one JPEG at a time, rows in order, only the part that is wanted.
//
// open() reads the header. start() says at which scale, in which colours and which region; then
// read_rows() gives the region's rows from the top. What lies outside is skipped: above without
// inverse transforms, left and right of the region's blocks likewise, below not read at all.
// With `fancy` upsampling every pixel of the region equals the same pixel of a full decode.
//
// Or start_planes() and next_planes() give luma and chroma as they are stored, each at its own size
// and scale: for results so much smaller that upsampled chroma would be a waste.
//
// This is the only face the rest of the library has of a JPEG decoder, so that the decoder behind
// it can be replaced. libjpeg's error exits end in jpeg_reader.cc and come out as Errors.
//
// Thread safety: one thread at a time. of_thread() is the calling thread's own reader; its memory
// is reused from image to image. The bytes given to open() must live until the last read_rows().
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "penstock/error.h"
#include "penstock/image.h"

namespace penstock::media {

enum class JpegColour : std::uint8_t { grey, rgb, bgr, rgba, cmyk };

// How many luma samples there are for one of chroma, across and down.
struct ChromaFactors {
  int x = 0;
  int y = 0;
};

struct JpegHeader {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int components = 0;     // 1, 3 or 4
  bool has_luma = false;  // the first component is brightness: grey can be read without colour
  bool progressive = false;
  ChromaFactors chroma;  // zeros: it cannot be read as planes
};

struct JpegSetup {
  int scale = 1;  // 1, 2, 4 or 8: the picture is read at 1 / scale of its size, rounded up
  JpegColour colour = JpegColour::rgb;  // cmyk for four components, and only for them
  bool fancy = true;                    // smooth chroma; false: it may be repeated, which is faster
  Rect region;                          // in scaled pixels, inside the picture
};

struct JpegPlane {
  int scale = 1;  // 1, 2, 4 or 8: the plane is read at 1 / scale of its own size, rounded up
  Rect region;    // in scaled samples, inside the plane
};

// Rows of a plane's region, in order.
struct PlaneRows {
  const std::uint8_t* data = nullptr;  // from the region's first column on
  std::ptrdiff_t row_bytes = 0;
  std::int64_t count = 0;
};

class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  static JpegReader& of_thread();

  // When strict, anything libjpeg would only warn about is an Error, here and below.
  Status open(std::span<const std::uint8_t> bytes, bool strict);
  const JpegHeader& header() const;

  Status start(const JpegSetup& setup);
  // What read_rows delivers: columns first_col() to first_col() + row_width(), which include the
  // region and may begin before it and end after it.
  std::int64_t first_col() const;
  std::int64_t row_width() const;
  int channels() const;
  // How many rows are best read at once.
  int rows_at_once() const;

  // Writes the next `count` rows. A row may take up to row_width() * channels() bytes.
  Status read_rows(std::uint8_t* to, std::ptrdiff_t row_bytes, std::int64_t count);

  // In place of start and read_rows, for intact baseline files of YCbCr. False: it cannot be done,
  // and start() must read the picture from its beginning.
  bool start_planes(const JpegPlane& luma, const JpegPlane& chroma);
  // Decodes some more rows of the regions. False as above, or after the last ones.
  bool next_planes();
  // What next_planes() gave of plane 0 (Y), 1 (Cb) or 2 (Cr), until it is called again.
  PlaneRows plane_rows(int plane) const;

  // Call after the region's last row. When strict, tells a file that was cut off below the region.
  Status finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The size of a side at 1 / scale.
inline std::int64_t scaled_size(std::int64_t size, int scale) {
  return (size + scale - 1) / scale;
}

}  // namespace penstock::media

#include "media/image/png_writer.h"

#include <libdeflate.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "media/image/png_unfilter.h"
#include "media/image/scratch.h"

namespace penstock::media {
namespace {

void put32(std::uint8_t* to, std::uint32_t v) {
  to[0] = std::uint8_t(v >> 24), to[1] = std::uint8_t(v >> 16), to[2] = std::uint8_t(v >> 8);
  to[3] = std::uint8_t(v);
}

// Writes a chunk's length, name and checksum around `size` bytes of data already at at + 8.
std::uint8_t* close_chunk(std::uint8_t* at, const char* name, std::size_t size) {
  put32(at, std::uint32_t(size));
  std::memcpy(at + 4, name, 4);
  put32(at + 8 + size, libdeflate_crc32(0, at + 4, 4 + size));
  return at + 12 + size;
}

// Filters a row into `to` and answers how large the differences are: the filter with the smallest
// sum usually compresses best.
std::uint64_t filter_row(int type, const std::uint8_t* row, const std::uint8_t* above,
                         std::size_t bytes, std::size_t step, std::uint8_t* to) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const int left = i >= step ? row[i - step] : 0;
    const int up = above ? above[i] : 0;
    const int corner = above && i >= step ? above[i - step] : 0;
    int guess = 0;
    switch (type) {
      case 1:
        guess = left;
        break;
      case 2:
        guess = up;
        break;
      case 3:
        guess = (left + up) / 2;
        break;
      case 4:
        guess = png_paeth(left, up, corner);
        break;
      default:
        break;
    }
    to[i] = std::uint8_t(row[i] - guess);
    sum += std::uint64_t(std::abs(int(std::int8_t(to[i]))));
  }
  return sum;
}

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};

}  // namespace

Result<std::vector<std::byte>> write_png(ConstImageView image, const EncodeOptions& options) {
  constexpr std::uint8_t kColour[5] = {0, 0, 4, 2, 6};  // by channels
  const std::size_t row_bytes = std::size_t(image.used_row_bytes());
  const std::size_t step = std::size_t(image.channels);
  const std::size_t raw_bytes = (row_bytes + 1) * std::size_t(image.height);
  ScratchLease raw(ScratchUse::raw, raw_bytes + row_bytes);
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(options.level));
  if (!raw || !compressor) return Error(Code::out_of_memory, "PNG: no memory to compress");

  std::uint8_t* to = raw.data();
  std::uint8_t* const trial = raw.data() + raw_bytes;
  for (std::int64_t y = 0; y < image.height; ++y, to += row_bytes + 1) {
    const std::uint8_t* row = image.row(y);
    const std::uint8_t* above = y > 0 ? image.row(y - 1) : nullptr;
    std::uint64_t best = UINT64_MAX;
    // Stored data gains nothing from filters.
    for (int type = 0; type < (options.level == 0 ? 1 : 5); ++type) {
      const std::uint64_t sum = filter_row(type, row, above, row_bytes, step, trial);
      if (sum >= best) continue;
      best = sum;
      to[0] = std::uint8_t(type);
      std::memcpy(to + 1, trial, row_bytes);
    }
  }
  constexpr std::size_t kHeader = 8 + 12 + 13, kEnd = 12;
  const std::size_t bound = libdeflate_zlib_compress_bound(compressor.get(), raw_bytes);
  std::vector<std::byte> file(kHeader + 12 + bound + kEnd);
  auto* const start = reinterpret_cast<std::uint8_t*>(file.data());
  std::uint8_t* at = start;
  std::memcpy(at, "\x89PNG\r\n\x1a\n", 8);
  at += 8;
  put32(at + 8, std::uint32_t(image.width));
  put32(at + 12, std::uint32_t(image.height));
  at[16] = 8, at[17] = kColour[image.channels];
  at[18] = at[19] = at[20] = 0;
  at = close_chunk(at, "IHDR", 13);
  const std::size_t size =
      libdeflate_zlib_compress(compressor.get(), raw.data(), raw_bytes, at + 8, bound);
  if (size == 0) return Error(Code::internal, "PNG: the compressor gave up");
  if (size > INT32_MAX) return Error(Code::out_of_range, "PNG: the picture is too large");
  at = close_chunk(at, "IDAT", size);
  at = close_chunk(at, "IEND", 0);
  file.resize(std::size_t(at - start));
  return file;
}

}  // namespace penstock::media

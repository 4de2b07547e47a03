// Any bytes as a packed chunk, through each codec alone or through several. The first byte says
// which, the second how large the chunk is.
#include <cstddef>
#include <cstdint>

#include "formats/chunked/array.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  using namespace penstock::formats::chunked;
  if (size < 2) return 0;
  static const CodecPtr codecs[] = {
      lzf_codec(),  shuffle_codec(4),   shuffle_codec(3), hdf5_lz4_codec(),
      lz4_codec(),  fletcher32_codec(), crc32c_codec(),   deflate_codec(Deflate::zlib),
      zstd_codec(), blosc_codec(),      shuffle_codec(8), shuffle_codec(2),
  };
  constexpr std::size_t kCount = sizeof(codecs) / sizeof(codecs[0]);
  Chain chain;
  chain.codecs.push_back(codecs[data[0] % kCount]);
  if (data[0] >= 128) chain.codecs.push_back(codecs[data[0] / 2 % kCount]);
  const std::uint64_t extent = 1 + data[1];
  const Extents shape{extent, 3, 2};
  if (data[1] % 3 == 0) chain.order = {2, 0, 1};
  Element element;
  element.bytes = 4;
  element.swap = data[1] % 2 == 1;
  BufferPool pool(std::size_t(16) << 20);
  const auto packed = std::as_bytes(std::span(data + 2, size - 2));
  const Result<Buffer> chunk = chain.decode(packed, 0, element, shape, pool);
  [[maybe_unused]] static volatile unsigned sink;
  if (!chunk) return 0;
  unsigned sum = 0;
  for (const std::byte byte : chunk->bytes().first(std::size_t(extent * 24))) sum += unsigned(byte);
  sink = sum;
  return 0;
}

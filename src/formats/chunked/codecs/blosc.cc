// Blosc 1: its own header, shuffling and one of several compressors inside.
#include <blosc.h>

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

class Blosc final : public Codec {
 public:
  std::string name() const override { return "blosc"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    std::size_t size = 0;
    if (packed.size() < BLOSC_MIN_HEADER_LENGTH ||
        ::blosc_cbuffer_validate(packed.data(), packed.size(), &size) != 0 || size > into.size()) {
      return Error(Code::corrupt, "the chunk is damaged: its blosc header is wrong");
    }
    const int made = ::blosc_decompress_ctx(packed.data(), into.data(), into.size(), 1);
    if (made < 0 || std::size_t(made) != size) {
      return Error(Code::corrupt, "the chunk is damaged: its blosc data cannot be unpacked");
    }
    return size;
  }
};

}  // namespace

CodecPtr blosc_codec() {
  return std::make_shared<Blosc>();
}

}  // namespace penstock::formats::chunked

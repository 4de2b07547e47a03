// Zstandard frames.
#include <zstd.h>

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

class Zstd final : public Codec {
 public:
  std::string name() const override { return "zstd"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    struct Free {
      void operator()(::ZSTD_DCtx* state) const { ::ZSTD_freeDCtx(state); }
    };
    thread_local const std::unique_ptr<::ZSTD_DCtx, Free> state(::ZSTD_createDCtx());
    if (!state) return Error(Code::out_of_memory, "no memory to unpack zstd");
    const std::size_t made =
        ::ZSTD_decompressDCtx(state.get(), into.data(), into.size(), packed.data(), packed.size());
    if (::ZSTD_isError(made) != 0) {
      return Error(Code::corrupt,
                   std::string("the chunk is damaged: zstd: ") + ::ZSTD_getErrorName(made));
    }
    return made;
  }
};

}  // namespace

CodecPtr zstd_codec() {
  return std::make_shared<Zstd>();
}

}  // namespace penstock::formats::chunked

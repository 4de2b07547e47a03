// zlib and gzip, through libdeflate.
#include <libdeflate.h>

#include "formats/chunked/codec.h"

namespace penstock::formats::chunked {
namespace {

class Inflate final : public Codec {
 public:
  explicit Inflate(Deflate container) : container_(container) {}
  std::string name() const override { return container_ == Deflate::zlib ? "zlib" : "gzip"; }

  Result<std::size_t> decode(std::span<const std::byte> packed,
                             std::span<std::byte> into) const override {
    struct Free {
      void operator()(libdeflate_decompressor* state) const { libdeflate_free_decompressor(state); }
    };
    thread_local const std::unique_ptr<libdeflate_decompressor, Free> state(
        libdeflate_alloc_decompressor());
    if (!state) return Error(Code::out_of_memory, "no memory to unpack " + name());
    // A gzip file may have several members, one after the other.
    std::size_t done = 0;
    do {
      std::size_t taken = 0, made = 0;
      const libdeflate_result outcome =
          container_ == Deflate::zlib
              ? libdeflate_zlib_decompress_ex(state.get(), packed.data(), packed.size(),
                                              into.data() + done, into.size() - done, &taken, &made)
              : libdeflate_gzip_decompress_ex(state.get(), packed.data(), packed.size(),
                                              into.data() + done, into.size() - done, &taken,
                                              &made);
      if (outcome != LIBDEFLATE_SUCCESS) {
        return Error(Code::corrupt,
                     outcome == LIBDEFLATE_INSUFFICIENT_SPACE
                         ? "the chunk is damaged: its " + name() + " data makes too many bytes"
                         : "the chunk is damaged: its " + name() + " data cannot be unpacked");
      }
      done += made;
      packed = packed.subspan(taken);
    } while (container_ == Deflate::gzip && !packed.empty());
    return done;
  }

 private:
  Deflate container_;
};

}  // namespace

CodecPtr deflate_codec(Deflate container) {
  return std::make_shared<Inflate>(container);
}

}  // namespace penstock::formats::chunked

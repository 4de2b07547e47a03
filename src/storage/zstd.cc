// unzstd: RFC 8878, one frame after another.
#include <zstd.h>

#include <memory>
#include <vector>

#include "storage/stream.h"

namespace penstock::storage {
namespace {

class Unzstd final : public Stream {
 public:
  explicit Unzstd(std::unique_ptr<Stream> packed)
      : packed_(std::move(packed)),
        input_(::ZSTD_DStreamInSize()),
        state_(::ZSTD_createDStream(), &::ZSTD_freeDStream) {}

  const std::string& name() const noexcept override { return packed_->name(); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (!state_) return Error(Code::out_of_memory, "no memory to unpack zstd").in_file(name());
    if (finished_) return std::size_t(0);
    ::ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos == 0) {
      if (in_.pos == in_.size && !more_inside_) {
        const Result<std::size_t> count = packed_->read(input_);
        if (!count) return count;
        if (*count == 0) return at_end();
        consumed_ += *count;
        in_ = {input_.data(), *count, 0};
      }
      left_ = ::ZSTD_decompressStream(state_.get(), &out, &in_);
      if (::ZSTD_isError(left_)) {
        finished_ = true;
        return Error(Code::corrupt,
                     std::string("cannot unpack zstd from here on: ") + ::ZSTD_getErrorName(left_))
            .in_file(name())
            .at_offset(std::int64_t(consumed_ - (in_.size - in_.pos)));
      }
      more_inside_ = out.pos == out.size;  // it may hold back what did not fit
    }
    return out.pos;
  }

 private:
  Result<std::size_t> at_end() {
    finished_ = true;
    if (left_ == 0 && consumed_ > 0) return std::size_t(0);
    return Error(Code::corrupt, "the zstd data ends early: the file was cut off")
        .in_file(name())
        .at_offset(std::int64_t(consumed_));
  }

  std::unique_ptr<Stream> packed_;
  std::vector<std::byte> input_;
  std::unique_ptr<::ZSTD_DStream, std::size_t (*)(::ZSTD_DStream*)> state_;
  ::ZSTD_inBuffer in_{nullptr, 0, 0};
  std::uint64_t consumed_ = 0;
  std::size_t left_ = 0;  // 0: a frame has ended here
  bool more_inside_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Stream> unzstd(std::unique_ptr<Stream> packed) {
  return std::make_unique<Unzstd>(std::move(packed));
}

}  // namespace penstock::storage

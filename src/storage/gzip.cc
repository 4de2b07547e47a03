// gunzip: RFC 1952, one member after another, as gzip and pigz write them. unzlib: RFC 1950, the
// same with another wrapping.
#include <zlib.h>

#include <optional>
#include <utility>
#include <vector>

#include "storage/stream.h"

namespace penstock::storage {
namespace {

class Inflate final : public Stream {
 public:
  Inflate(std::unique_ptr<Stream> packed, const char* format, int window_bits)
      : packed_(std::move(packed)), format_(format), input_(std::size_t(256) << 10) {
    ready_ = ::inflateInit2(&state_, window_bits) == Z_OK;
  }
  ~Inflate() override {
    if (ready_) ::inflateEnd(&state_);
  }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  const std::string& name() const noexcept override { return packed_->name(); }

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (!ready_) {
      return Error(Code::out_of_memory, std::string("no memory to unpack ") + format_)
          .in_file(name());
    }
    if (failure_) return *std::exchange(failure_, std::nullopt);
    if (finished_) return std::size_t(0);
    const auto room = uInt(std::min<std::size_t>(into.size(), std::size_t(1) << 30));
    state_.next_out = reinterpret_cast<Bytef*>(into.data());
    state_.avail_out = room;
    while (state_.avail_out == room) {
      if (state_.avail_in == 0) {
        const Result<std::size_t> count = packed_->read(input_);
        if (!count) return count;
        if (*count == 0) return at_end();
        consumed_ += *count;
        state_.next_in = reinterpret_cast<Bytef*>(input_.data());
        state_.avail_in = uInt(*count);
      }
      if (between_members_ && skip_padding()) continue;
      between_members_ = false;
      const int outcome = ::inflate(&state_, Z_NO_FLUSH);
      if (outcome == Z_STREAM_END) {
        between_members_ = true;
        ::inflateReset(&state_);
      } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
        finished_ = true;
        failure_ = Error(outcome == Z_MEM_ERROR ? Code::out_of_memory : Code::corrupt,
                         std::string("cannot unpack ") + format_ + " from here on: " +
                             (state_.msg != nullptr ? state_.msg : "damaged data"))
                       .in_file(name())
                       .at_offset(std::int64_t(consumed_ - state_.avail_in));
        if (state_.avail_out == room) return *std::exchange(failure_, std::nullopt);
      }
    }
    return std::size_t(room - state_.avail_out);
  }

 private:
  // Zeros behind the last member are padding, as on tapes. True if all input was that.
  bool skip_padding() noexcept {
    while (state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    return state_.avail_in == 0;
  }

  Result<std::size_t> at_end() {
    finished_ = true;
    if (between_members_) return std::size_t(0);
    return Error(Code::corrupt,
                 std::string("the ") + format_ + " data ends early: the file was cut off")
        .in_file(name())
        .at_offset(std::int64_t(consumed_));
  }

  std::unique_ptr<Stream> packed_;
  const char* format_;
  std::vector<std::byte> input_;
  z_stream state_{};
  std::uint64_t consumed_ = 0;
  bool ready_ = false;
  bool finished_ = false;
  std::optional<Error> failure_;  // behind what was unpacked before it, which is given first
  bool between_members_ = false;
};

}  // namespace

std::unique_ptr<Stream> gunzip(std::unique_ptr<Stream> packed) {
  return std::make_unique<Inflate>(std::move(packed), "gzip", 16 + MAX_WBITS);  // 16: its header
}

std::unique_ptr<Stream> unzlib(std::unique_ptr<Stream> packed) {
  return std::make_unique<Inflate>(std::move(packed), "zlib", MAX_WBITS);
}

}  // namespace penstock::storage

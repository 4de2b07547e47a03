// WAV files with a 64-bit header that does not say how long they are, as a pipe gets them.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "media/audio/wav.h"

namespace penstock::media {
namespace {

constexpr std::string_view kRiff = "RIFF";

// The bytes of another source, but for the name of the file's kind.
class AsRiff final : public storage::Source {
 public:
  explicit AsRiff(std::shared_ptr<const storage::Source> source) : source_(std::move(source)) {}
  const std::string& name() const noexcept override { return source_->name(); }
  storage::Stamp stamp() const noexcept override { return source_->stamp(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    Status done = source_->read(offset, into);
    if (done && offset < kRiff.size()) {
      const std::size_t count = std::min<std::size_t>(kRiff.size() - offset, into.size());
      std::memcpy(into.data(), kRiff.data() + offset, count);
    }
    return done;
  }

 private:
  std::shared_ptr<const storage::Source> source_;
};

}  // namespace

std::shared_ptr<const storage::Source> for_ffmpeg(std::shared_ptr<const storage::Source> source,
                                                  const WavData& data) {
  if (!data.open || !data.is_long) return source;
  return std::make_shared<AsRiff>(std::move(source));
}

}  // namespace penstock::media

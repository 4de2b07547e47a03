#include "media/av/ffmpeg/mp3_frames.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace penstock::media::av {
namespace {

constexpr std::size_t kBlock = 128 * 1024;
constexpr std::int64_t kDecoderDelay = 528 + 1;
// Of a header: what FFmpeg wants to be the same in the first frame and the next, else it begins
// later.
constexpr std::uint32_t kSame = 0xFFFE0CCF;

std::uint32_t big_endian(const std::uint8_t* four) {
  return std::uint32_t(four[0]) << 24 | std::uint32_t(four[1]) << 16 | std::uint32_t(four[2]) << 8 |
         four[3];
}

std::uint64_t id3_size(const std::uint8_t* ten) {
  if (std::memcmp(ten, "ID3", 3) != 0 || ten[3] == 0xFF || ten[4] == 0xFF) return 0;
  if (((ten[6] | ten[7] | ten[8] | ten[9]) & 0x80) != 0) return 0;  // as FFmpeg knows one
  const std::uint64_t size = std::uint64_t(ten[6] & 127) << 21 | std::uint64_t(ten[7] & 127) << 14 |
                             std::uint64_t(ten[8] & 127) << 7 | std::uint64_t(ten[9] & 127);
  return size + ((ten[5] & 0x10) != 0 ? 20 : 10);  // with a footer, or without
}

}  // namespace

Mp3Header mp3_header(const std::uint8_t* four) noexcept {
  constexpr std::array<int, 15> kFull = {0,   32,  40,  48,  56,  64,  80, 96,
                                         112, 128, 160, 192, 224, 256, 320};
  constexpr std::array<int, 15> kHalf = {0,  8,  16, 24,  32,  40,  48, 56,
                                         64, 80, 96, 112, 128, 144, 160};
  constexpr std::array<int, 3> kRates = {44100, 48000, 32000};
  const unsigned version = four[1] >> 3 & 3, layer = four[1] >> 1 & 3;
  const unsigned bits = four[2] >> 4, rate = four[2] >> 2 & 3, padding = four[2] >> 1 & 1;
  if (four[0] != 0xFF || (four[1] & 0xE0) != 0xE0 || version == 1 || layer != 1) return {};
  if (bits == 0 || bits == 15 || rate == 3) return {};
  const bool full = version == 3;  // MPEG-1
  Mp3Header header;
  header.sample_rate = kRates[rate] >> (full ? 0 : version == 2 ? 1 : 2);
  header.channels = four[3] >> 6 == 3 ? 1 : 2;
  header.samples = full ? 1152 : 576;
  const int bits_a_second = (full ? kFull[bits] : kHalf[bits]) * 1000;
  header.size = std::uint64_t(header.samples / 8 * bits_a_second / header.sample_rate) + padding;
  header.side = full ? (header.channels == 1 ? 17 : 32) : (header.channels == 1 ? 9 : 17);
  return header;
}

std::uint8_t* Mp3Frames::bytes(std::uint64_t at, std::size_t size) {
  if (at > source_->size() || source_->size() - at < size || size > kBlock) return nullptr;
  if (at < block_at_ || at + size > block_at_ + block_size_) {
    block_size_ = 0;
    // One that a decoder still refers to is left to it.
    if (packet_.buf == nullptr || av_buffer_is_writable(packet_.buf) == 0) {
      av_buffer_unref(&packet_.buf);
      packet_.buf = av_buffer_alloc(kBlock + AV_INPUT_BUFFER_PADDING_SIZE);
    }
    if (packet_.buf == nullptr) return nullptr;
    const std::uint64_t there = std::min<std::uint64_t>(kBlock, source_->size() - at);
    if (!source_->read(at, {reinterpret_cast<std::byte*>(packet_.buf->data), there}))
      return nullptr;
    std::memset(packet_.buf->data + there, 0, AV_INPUT_BUFFER_PADDING_SIZE);
    block_at_ = at;
    block_size_ = there;
  }
  return packet_.buf->data + (at - block_at_);
}

// A decoder may look a little past the end of a packet; what it makes of a damaged one must not
// depend on what comes next.
void Mp3Frames::cover(std::uint8_t* behind) noexcept {
  covered_ = behind;
  std::memcpy(under_.data(), behind, under_.size());
  std::memset(behind, 0, under_.size());
}

void Mp3Frames::uncover() noexcept {
  if (covered_ != nullptr) std::memcpy(covered_, under_.data(), under_.size());
  covered_ = nullptr;
}

bool Mp3Frames::open() {
  const std::uint8_t* const head = bytes(0, 10);
  if (head == nullptr) return false;
  at_ = id3_size(head);
  std::uint64_t at = at_;
  for (int i = 0; i < 3; ++i) {
    const std::uint8_t* const four = bytes(at, 4);
    const Mp3Header header = four != nullptr ? mp3_header(four) : Mp3Header();
    if (i == 0) first_ = header;
    if (header.sample_rate == 0 || header.sample_rate != first_.sample_rate ||
        header.channels != first_.channels) {
      return false;
    }
    at += header.size;
  }
  read_tag();
  const std::uint8_t* const first = bytes(at_, 4);
  if (first == nullptr) return false;
  const std::uint32_t bits = big_endian(first);
  const std::uint8_t* const second = bytes(at_ + mp3_header(first).size, 4);
  return second != nullptr && (bits & kSame) == (big_endian(second) & kSame);
}

// The frame in front may hold no sound, but what the encoder says of all the others.
void Mp3Frames::read_tag() {
  const std::uint8_t* const frame = bytes(at_, first_.size);
  if (frame == nullptr) return;
  const std::string_view whole(reinterpret_cast<const char*>(frame), first_.size);
  const std::uint8_t* const limit = frame + first_.size;
  if (whole.substr(std::min<std::size_t>(4 + 32, whole.size())).starts_with("VBRI")) {
    at_ += first_.size;
    return;
  }
  const std::uint8_t* here = frame + 4 + first_.side;
  const std::string_view tag = whole.substr(std::min(std::size_t(here - frame), whole.size()), 4);
  if (tag != "Xing" && tag != "Info") return;
  at_ += first_.size;
  if (limit - here < 8) return;
  const std::uint32_t flags = big_endian(here + 4);
  here += 8;
  if ((flags & 1) != 0) {
    if (limit - here < 4) return;
    frames_ = big_endian(here);
    here += 4;
  }
  here += ((flags & 2) != 0 ? 4 : 0) + ((flags & 4) != 0 ? 100 : 0) + ((flags & 8) != 0 ? 4 : 0);
  if (limit - here < 24) return;
  const std::string_view encoder(reinterpret_cast<const char*>(here), 4);
  if (encoder != "LAME" && encoder != "Lavf" && encoder != "Lavc") return;
  const std::uint32_t delays = big_endian(here + 20) & 0xFFFFFF;  // 12 bits each
  skip_front_ = std::int64_t(delays >> 12) + kDecoderDelay;
  if (frames_ == 0) return;
  last_ = frames_ * first_.samples;
  end_ = last_ - std::int64_t(delays & 4095) + kDecoderDelay;
}

std::int64_t Mp3Frames::samples() const noexcept {
  if (last_ > 0) return std::max<std::int64_t>(std::min(end_, last_) - skip_front_, 0);
  return std::int64_t((source_->size() - at_) / first_.size) * first_.samples;
}

std::int64_t Mp3Frames::least() const noexcept {
  if (frames_ == 0) return 0;
  const std::int64_t all = last_ > 0 ? samples() : frames_ * first_.samples;
  return std::max<std::int64_t>(all - first_.samples, 0);
}

// Behind the last frame there may be other tags.
bool Mp3Frames::at_tags() {
  if (at_ == source_->size()) return true;
  const std::uint8_t* const mark = bytes(at_, 8);
  return mark != nullptr && ((std::memcmp(mark, "TAG", 3) == 0 && source_->size() - at_ == 128) ||
                             std::memcmp(mark, "APETAGEX", 8) == 0);
}

Mp3Frames::Next Mp3Frames::next(Packet& packet) {
  uncover();
  if (at_tags()) return Next::end;
  const std::uint8_t* const four = bytes(at_, 4);
  const Mp3Header header = four != nullptr ? mp3_header(four) : Mp3Header();
  if (header.sample_rate != first_.sample_rate || header.channels != first_.channels) {
    return Next::strange;
  }
  packet_.data = bytes(at_, header.size);
  if (packet_.data == nullptr) return Next::strange;
  packet_.size = int(header.size);
  packet_.pts = packet_.dts = sample_;
  packet_.flags = AV_PKT_FLAG_KEY;
  packet = {};
  packet.key = true;
  packet.pos = std::int64_t(at_);
  packet.size = std::int64_t(header.size);
  packet.duration = packet.samples = header.samples;
  packet.pts = packet.dts = sample_;
  if (sample_ == 0) packet.skip_front = skip_front_;
  const std::int64_t after = sample_ + header.samples;
  if (last_ > 0 && after >= end_ && sample_ < last_) {
    packet.skip_back = std::min(after - end_, header.samples);
  }
  sample_ = after;
  at_ += header.size;
  cover(packet_.data + packet_.size);
  return Next::frame;
}

}  // namespace penstock::media::av

// FrameReader over a stream that is made up here: what it does when packets are not as they were.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "media/video/reader.h"

namespace penstock::media {
namespace {

// Ten packets, each a key frame and a picture of its own.
struct Stream {
  std::vector<av::Packet> packets;
  std::int64_t lost = -1;  // this one is left out when packets are read
  std::string container = "mpegts";
  int rewinds = 0;
  bool rest = false;  // a seek comes upon the rest of a packet, then one that knows no place

  Stream() {
    for (std::int64_t i = 0; i < 10; ++i) {
      av::Packet packet;
      packet.pts = packet.dts = i;
      packet.pos = 100 * i;
      packet.key = true;
      packets.push_back(packet);
    }
  }
};

class FakeInput final : public av::Input {
 public:
  explicit FakeInput(Stream& stream) : stream_(stream) {
    info_.container = stream.container;
    info_.codec = "fake";
    info_.tick = 1;
    info_.in_order = info_.keys_hold = true;
  }

  const av::StreamInfo& stream() const noexcept override { return info_; }
  Result<bool> read(av::Packet& packet) override {
    if (next_ == stream_.lost) ++next_;
    if (next_ >= std::int64_t(stream_.packets.size())) return false;
    packet = stream_.packets[std::size_t(held_ = next_)];
    if (stream_.rest && after_seek_ == 0) packet.size = 7;
    if (stream_.rest && after_seek_ == 1) packet.pos = -1;
    if (!stream_.rest || after_seek_ != 0) ++next_;
    ++after_seek_;
    return true;
  }
  void read_blank(bool) override {}
  Status seek(std::int64_t time) override {
    next_ = time;
    return {};
  }
  Status seek_byte(std::int64_t pos) override {
    after_seek_ = 0;
    return seek(pos / 100);
  }
  Status rewind() override {
    next_ = 0;
    after_seek_ = 2;
    ++stream_.rewinds;
    return {};
  }
  std::int64_t complaints() const noexcept override { return 0; }
  const std::string& complaint() const noexcept override { return words_; }
  av::Start start() const noexcept override { return av::Start::clean; }
  bool shown_early() override { return false; }
  bool holds_two() const override { return false; }
  bool parameter_sets(std::vector<av::ParameterSet>&) const override { return false; }
  void begin_with(std::vector<av::ParameterSet>) override {}
  void expect_reorder(int) override {}
  Status send(std::int64_t tag, av::Wanted) override {
    waiting_.emplace_back(tag, held_);
    return {};
  }
  Status drain() override { return {}; }
  Result<bool> receive(av::Picture& picture) override {
    if (waiting_.empty()) return false;
    picture = {};
    picture.tag = waiting_.front().first;
    picture.key = true;
    picture.width = waiting_.front().second;  // which packet it really came from
    waiting_.pop_front();
    return true;
  }
  Result<bool> receive(av::Sound&) override { return false; }
  void flush() override { waiting_.clear(); }
  bool must_repeat() noexcept override { return false; }
  std::int64_t damages() const noexcept override { return 0; }
  const std::string& damage() const noexcept override { return words_; }
  std::int64_t gaps() const noexcept override { return 0; }
  Status convert(PixelMode, std::uint8_t*, std::ptrdiff_t) override { return {}; }
  Result<std::unique_ptr<av::Resampler>> resampler(const av::SampleForm&) override {
    return Error(Code::unsupported, "there is no sound");
  }

 private:
  Stream& stream_;
  av::StreamInfo info_;
  std::string words_;
  std::int64_t next_ = 0, held_ = -1;
  int after_seek_ = 2;
  std::deque<std::pair<std::int64_t, std::int64_t>> waiting_;
};

struct Taken final : FrameSink {
  std::vector<std::int64_t> packets;
  Status take(std::size_t, const av::Picture& picture, av::Input&) override {
    packets.push_back(picture.width);
    return {};
  }
};

class Reader : public testing::Test {
 protected:
  // Indexed as the stream is now.
  void open() {
    auto input = std::make_unique<FakeInput>(stream_);
    Result<FrameIndex> index = make_index(*input, false);
    ASSERT_TRUE(index);
    ASSERT_EQ(index->frames.size(), stream_.packets.size());
    reader_.emplace(std::move(input), *std::move(index), "made up");
  }
  Result<ReadReport> read(std::int64_t frame) {
    taken_.packets.clear();
    return reader_->read(std::vector{frame}, {}, taken_);
  }

  Stream stream_;
  std::optional<FrameReader> reader_;
  Taken taken_;
};

TEST_F(Reader, a_packet_in_the_place_of_another_is_never_shown_as_that) {
  open();
  ASSERT_TRUE(read(4));
  stream_.lost = 5;
  EXPECT_EQ(read(5).error().code(), Code::corrupt);
  const Result<ReadReport> again = read(5);
  EXPECT_TRUE(!again || taken_.packets == std::vector<std::int64_t>{5});
  stream_.lost = -1;
  ASSERT_TRUE(read(5));
  EXPECT_EQ(taken_.packets, (std::vector<std::int64_t>{5}));
}

TEST_F(Reader, damage_of_a_packet_is_not_that_of_the_one_jumped_to) {
  stream_.packets[2].corrupt = true;
  open();
  const Result<ReadReport> damaged = read(2);
  ASSERT_TRUE(damaged);
  EXPECT_TRUE(damaged->damaged[0]);
  const Result<ReadReport> before = read(1);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->damaged[0]);
}

TEST_F(Reader, what_comes_first_after_a_seek_may_be_the_rest_of_another_packet) {
  for (std::size_t i = 0; i < 10; ++i) stream_.packets[i].size = std::int64_t(1000 + i);
  open();
  stream_.rest = true;
  const int before = stream_.rewinds;
  ASSERT_TRUE(read(9));
  EXPECT_EQ(taken_.packets, (std::vector<std::int64_t>{9}));
  ASSERT_TRUE(read(7));
  EXPECT_EQ(taken_.packets, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(stream_.rewinds, before);
}

TEST_F(Reader, packets_that_share_a_place_in_the_file_are_told_apart_by_their_times) {
  stream_.container = "avi";
  for (const std::size_t i : {3, 4, 5}) stream_.packets[i].pos = 300;
  stream_.packets[3].pts = 5;
  stream_.packets[5].pts = 5;
  open();
  EXPECT_FALSE(reader_->index().seekable);
}

}  // namespace
}  // namespace penstock::media

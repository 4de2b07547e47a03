#include "media/video/walk.h"

#include <algorithm>
#include <utility>

#include "media/results.h"
#include "media/video/open.h"

namespace penstock::media {

Result<std::unique_ptr<FrameWalk>> FrameWalk::open(
    std::shared_ptr<const storage::Source> source, const VideoOptions& options,
    const PaintRequest& request, const ReadOptions& how, const RandomStream& random,
    std::vector<std::uint32_t> packets, std::string damage) {
  Result<std::unique_ptr<av::Input>> input = open_input(brought_near(source), options);
  if (!input) return std::move(input).error();
  return std::unique_ptr<FrameWalk>(new FrameWalk(*std::move(input), request, how, random,
                                                  std::move(packets), std::move(damage),
                                                  source->name()));
}

Result<Tensor> FrameWalk::paint(const av::Picture& picture) {
  Tensor made;
  Painter painter(request_, random_, [&made](const FinishSpec& finish) -> Result<std::byte*> {
    Result<Tensor> tensor =
        Tensor::empty(result_pool(), DType::uint8, {finish.height, finish.width, finish.channels});
    if (!tensor) return std::move(tensor).error();
    made = *std::move(tensor);
    return made.raw();
  });
  if (Status painted = painter.take(0, picture, *input_); !painted) {
    return std::move(painted).error();
  }
  return made;
}

// False: there are no more packets that can be read.
bool FrameWalk::read() {
  av::Packet packet;
  Result<bool> more = input_->read(packet);
  if (!more) {
    failure_ = std::move(more).error();
  } else if (*more && packet.corrupt && input_->stream().container != "mpegts") {
    failure_ = Error(Code::corrupt, "the file ends inside it, or is damaged there");
  }
  if (!failure_) {
    if (!*more && !damage_.empty()) {
      failure_ =
          Error(Code::corrupt, "the file is damaged after frame " +
                                   std::to_string(std::int64_t(shown_.size()) - 1) + ": " + damage_)
              .in_file(name_);
    }
    return *more;
  }
  // Pictures may have been decoded that are shown after one that is lost now.
  const auto lost = std::find_if(shown_.begin(), shown_.end(),
                                 [this](std::uint32_t one) { return one >= packets_; });
  end_ = lost - shown_.begin();
  if (failure_->code() == Code::corrupt) {
    failure_ = Error(Code::corrupt, "frame " + std::to_string(end_) + ": " + failure_->message())
                   .in_file(name_);
  }
  return false;
}

// What was decoded so far is decoded again, to the same pixels each time.
Status FrameWalk::begin_anew() {
  packets_ = passed_ = 0;
  drained_ = false;
  failure_.reset();
  end_ = std::numeric_limits<std::int64_t>::max();
  input_->flush();
  return input_->rewind();
}

Result<std::optional<Tensor>> FrameWalk::next() {
  av::Picture picture;
  for (;;) {
    Result<bool> got = input_->receive(picture);
    if (!got) return std::move(got).error();
    if (how_.strict && (input_->damages() > 0 || (*got && picture.damaged))) {
      return Error(Code::corrupt, "frame " + std::to_string(frames_) +
                                      " or one near it is damaged: " + input_->damage())
          .in_file(name_);
    }
    if (*got && passed_ < end_) {
      if (++passed_ <= frames_) continue;
      ++frames_;
      Result<Tensor> painted = paint(picture);
      if (!painted) return std::move(painted).error();
      return std::optional<Tensor>(*std::move(painted));
    }
    if (*got) continue;
    if (drained_ && failure_ && !how_.partial) return *std::exchange(failure_, std::nullopt);
    if (drained_) return std::optional<Tensor>();
    drained_ = !read();
    Status sent = !drained_ ? input_->send(packets_++, av::Wanted::picture) : input_->drain();
    if (!sent) return std::move(sent).error();
    if (input_->must_repeat()) {
      if (Status begun = begin_anew(); !begun) return std::move(begun).error();
    }
  }
}

}  // namespace penstock::media

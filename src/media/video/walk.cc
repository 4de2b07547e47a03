#include "media/video/walk.h"

#include <utility>

#include "media/results.h"
#include "media/video/open.h"

namespace penstock::media {

Result<std::unique_ptr<FrameWalk>> FrameWalk::open(std::shared_ptr<const storage::Source> source,
                                                   const VideoOptions& options,
                                                   const PaintRequest& request, bool strict) {
  Result<std::unique_ptr<av::Input>> input = open_input(source, options);
  if (!input) return std::move(input).error();
  return std::unique_ptr<FrameWalk>(
      new FrameWalk(*std::move(input), request, strict, source->name()));
}

Result<Tensor> FrameWalk::paint(const av::Picture& picture) {
  Tensor made;
  Painter painter(request_, RandomStream(RandomKey(0, 0), 0),
                  [&made](const FinishSpec& finish) -> Result<std::byte*> {
                    Result<Tensor> tensor =
                        Tensor::empty(result_pool(), DType::uint8,
                                      {finish.height, finish.width, finish.channels});
                    if (!tensor) return std::move(tensor).error();
                    made = *std::move(tensor);
                    return made.raw();
                  });
  if (Status painted = painter.take(0, picture, *input_); !painted) {
    return std::move(painted).error();
  }
  return made;
}

Result<std::optional<Tensor>> FrameWalk::next() {
  av::Packet packet;
  av::Picture picture;
  for (;;) {
    Result<bool> got = input_->receive(picture);
    if (!got) return std::move(got).error();
    if (strict_ && (input_->damages() > 0 || (*got && picture.damaged))) {
      return Error(Code::corrupt, "frame " + std::to_string(frames_) +
                                      " or one near it is damaged: " + input_->damage())
          .in_file(name_);
    }
    if (*got) {
      ++frames_;
      Result<Tensor> painted = paint(picture);
      if (!painted) return std::move(painted).error();
      return std::optional<Tensor>(*std::move(painted));
    }
    if (drained_) return std::optional<Tensor>();
    Result<bool> more = input_->read(packet);
    if (!more) return std::move(more).error();
    if (packet.corrupt && *more && input_->stream().container != "mpegts") {
      return Error(Code::corrupt, "frame " + std::to_string(frames_) +
                                      ": the file ends inside it, or is damaged there")
          .in_file(name_);
    }
    drained_ = !*more;
    Status sent = *more ? input_->send(packets_++, av::Wanted::picture) : input_->drain();
    if (!sent) return std::move(sent).error();
  }
}

}  // namespace penstock::media

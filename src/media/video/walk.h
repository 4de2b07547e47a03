// FrameWalk: the pictures of a stream from front to back, one after the other.
//
// Thread safety: one thread at a time.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/av/av.h"
#include "media/video/painter.h"
#include "penstock/tensor.h"
#include "penstock/video.h"

namespace penstock::media {

class FrameWalk {
 public:
  // `packets` are those of the frames, and `damage` that of the container, as FrameIndex has them.
  // All frames draw the same crop from
  // `random`.
  static Result<std::unique_ptr<FrameWalk>> open(std::shared_ptr<const storage::Source> source,
                                                 const VideoOptions& options,
                                                 const PaintRequest& request,
                                                 const ReadOptions& how, const RandomStream& random,
                                                 std::vector<std::uint32_t> packets,
                                                 std::string damage);

  // The next frame: uint8, height x width x channels. Nothing: it was the last one, or, if partial,
  // the last one before those that cannot be had. Behind the last one of a damaged file, unless
  // partial: an Error, once.
  Result<std::optional<Tensor>> next();

 private:
  FrameWalk(std::unique_ptr<av::Input> input, const PaintRequest& request, const ReadOptions& how,
            const RandomStream& random, std::vector<std::uint32_t> shown, std::string damage,
            std::string name)
      : input_(std::move(input)),
        request_(request),
        how_(how),
        random_(random),
        shown_(std::move(shown)),
        damage_(std::move(damage)),
        name_(std::move(name)) {}

  bool read();
  Status begin_anew();
  Result<Tensor> paint(const av::Picture& picture);

  std::unique_ptr<av::Input> input_;
  PaintRequest request_;
  ReadOptions how_;
  RandomStream random_;
  std::vector<std::uint32_t> shown_;  // the packets of the frames
  std::string damage_;                // why there may be no more of them
  std::string name_;
  std::int64_t packets_ = 0, frames_ = 0;
  std::int64_t passed_ =
      0;  // frames of this pass: less than those given where it had to begin anew
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();  // of the frames that can be had
  bool drained_ = false;
  std::optional<Error> failure_;  // of a packet; to be told when the frames before it are given
};

}  // namespace penstock::media

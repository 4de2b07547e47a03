// FrameWalk: the pictures of a stream from front to back, one after the other.
//
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "media/av/av.h"
#include "media/video/painter.h"
#include "penstock/tensor.h"
#include "penstock/video.h"

namespace penstock::media {

class FrameWalk {
 public:
  static Result<std::unique_ptr<FrameWalk>> open(std::shared_ptr<const storage::Source> source,
                                                 const VideoOptions& options,
                                                 const PaintRequest& request, bool strict);

  // The next frame: uint8, height x width x channels. Nothing: it was the last one.
  Result<std::optional<Tensor>> next();

 private:
  FrameWalk(std::unique_ptr<av::Input> input, const PaintRequest& request, bool strict,
            std::string name)
      : input_(std::move(input)), request_(request), strict_(strict), name_(std::move(name)) {}

  Result<Tensor> paint(const av::Picture& picture);

  std::unique_ptr<av::Input> input_;
  PaintRequest request_;
  bool strict_;
  std::string name_;
  std::int64_t packets_ = 0, frames_ = 0;
  bool drained_ = false;
};

}  // namespace penstock::media

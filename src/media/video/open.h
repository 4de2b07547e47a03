// Opening a clip for frames, for the library's own use.
#pragma once

#include <memory>

#include "media/video/painter.h"
#include "media/video/reader.h"
#include "penstock/video.h"

namespace penstock::media {

// One from afar keeps what was read of it lately, so that who jumps about in it makes few requests.
std::shared_ptr<const storage::Source> brought_near(std::shared_ptr<const storage::Source> source);

Result<std::unique_ptr<av::Input>> open_input(std::shared_ptr<const storage::Source> source,
                                              const VideoOptions& options);

// Makes the index of the stream.
Result<std::unique_ptr<FrameReader>> open_frames(std::shared_ptr<const storage::Source> source,
                                                 const VideoOptions& options);

// What Video's members of these names answer.
Result<VideoInfo> info_of(FrameReader& reader);
Result<std::int64_t> frame_at(const FrameIndex& index, double seconds);

// Frames as one array. Those that cannot be had are left out, if partial.
Result<VideoFrames> read_frames(FrameReader& reader, std::span<const std::int64_t> numbers,
                                const PaintRequest& request, const ReadOptions& options,
                                const RandomStream& random);

}  // namespace penstock::media

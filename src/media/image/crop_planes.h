// The fused path of JPEGs that need not be exact: luma and chroma are resized each from its own
// size and become colours once per pixel of the result.
//
// Thread safety: any thread; works in the calling thread's resamplers and scratch.
#pragma once

#include "media/image/crop_resize.h"
#include "media/image/jpeg_reader.h"

namespace penstock::media {

// `reader` has read the header and `rows` has begun. False: it is not for this picture, plan or
// colour, or the file is damaged; reader.start() then reads it from its beginning, and rows that
// were made are to be made again.
bool resize_planes(JpegReader& reader, const CropResize& plan, JpegColour colour,
                   FinishedRows& rows);

}  // namespace penstock::media

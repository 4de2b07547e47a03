// From compressed bytes straight into a slot of a batch, in its final layout and type.
//
// Thread safety: any thread; the slot belongs to the caller for the length of the call.
#pragma once

#include "media/image/codecs.h"
#include "penstock/media.h"
#include "transform/finish.h"

namespace penstock::media {

// `image` has finish.bytes() bytes, aligned to its type, and `finish` has the size and channels of
// what the plan keeps (an Error says otherwise); mirroring may be asked for in either. On an Error
// the slot's contents are undefined.
Status decode_into_slot(Bytes bytes, const DecodeOptions& options, CropPlanner& planner,
                        const FinishSpec& finish, void* image);

}  // namespace penstock::media

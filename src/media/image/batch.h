// Many pictures at once into one block of slots: for users who call the decoder themselves. (A
// dataset's batches are filled by the engine's workers.)
//
// Thread safety: any thread; starts threads of its own, which have ended when it returns.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "media/image/codecs.h"
#include "media/image/crop_request.h"
#include "transform/finish.h"

namespace penstock::media {

// Picture i goes to `slots` + i * finish.bytes() and draws from the stream of position + i. There
// is one request per picture. Answers what became of each: one bad picture costs the others
// nothing, and its own slot is filled with zeros.
std::vector<Status> decode_batch(std::span<const Bytes> files, const DecodeOptions& options,
                                 std::span<const CropRequest> requests, const FinishSpec& finish,
                                 std::byte* slots, int threads,
                                 const RandomKey& key = RandomKey(0, 0),
                                 std::uint64_t position = 0);

}  // namespace penstock::media

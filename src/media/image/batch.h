// Many pictures at once into one block of slots: for users who call the decoder themselves. (A
// dataset's batches are filled by the engine's workers.)
//
// Thread safety: any thread. Helpers are kept for the next call (core/together.h).
#pragma once

#include <cstddef>
#include <span>

#include "media/image/codecs.h"
#include "media/image/crop_request.h"
#include "transform/finish.h"

namespace penstock::media {

// Picture i goes to `slots` + i * finish.bytes() and draws from the stream of position + i. There
// is one request and one outcome per picture: what became of it. One bad picture costs the others
// nothing, and its own slot is filled with zeros.
void decode_batch(std::span<const Bytes> files, const DecodeOptions& options,
                  std::span<const CropRequest> requests, const FinishSpec& finish, std::byte* slots,
                  std::span<Status> outcomes, int threads, const RandomKey& key = RandomKey(0, 0),
                  std::uint64_t position = 0);

}  // namespace penstock::media

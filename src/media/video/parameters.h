// Which parameter sets hold at a packet of a stream. Those of streams that were put one behind the
// other change, and a decoder that begins in the middle must be told of the right ones.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "media/av/av.h"

namespace penstock::media {

// Those that hold besides the container's header, or in its place; sorted by kind and number.
using ParameterSets = std::vector<av::ParameterSet>;

struct ParameterChange {
  std::uint32_t packet = 0;  // that carries it
  av::ParameterSet set;
};

// From now on `set` holds. True: another one did.
bool put_set(const av::ParameterSet& set, ParameterSets& sets);

// Are there any but palettes? Of these the container tells without the packet's bytes.
bool carries_sets(const ParameterSets& sets);

// Those that hold after the changes up to that of `packet`.
ParameterSets sets_at(const std::vector<ParameterChange>& changes, std::uint32_t packet);

}  // namespace penstock::media

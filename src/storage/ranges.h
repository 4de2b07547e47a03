// Merging byte ranges: many small reads that lie near one another become few larger ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/error.h"
#include "storage/source.h"

namespace penstock::storage {

struct MergeLimits {
  std::uint64_t gap = std::uint64_t(16) << 10;  // reading this much for nothing beats another read
  std::uint64_t size = std::uint64_t(1) << 20;  // a merged range is not made longer than this
};

// One read, which covers ranges[first] to ranges[first + count - 1].
struct MergedRange {
  Range range;
  std::size_t first = 0;
  std::size_t count = 0;
};

// `ranges` are sorted by offset; they may overlap. A range that is longer than the limit by itself
// stays as it is. Whatever was in `into` before is dropped.
void merge(std::span<const Range> ranges, const MergeLimits& limits,
           std::vector<MergedRange>& into);

// As source.read_batch(), in any order of reads, with those that lie near one another in one read.
void read_merged(const Source& source, std::span<const Read> reads, std::span<Status> outcomes);

}  // namespace penstock::storage

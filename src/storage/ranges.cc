#include "storage/ranges.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace penstock::storage {

void merge(std::span<const Range> ranges, const MergeLimits& limits,
           std::vector<MergedRange>& into) {
  into.clear();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& range = ranges[i];
    if (!into.empty()) {
      Range& last = into.back().range;
      const std::uint64_t end = std::max(last.end(), range.end());
      const bool near = range.offset <= last.end() || range.offset - last.end() <= limits.gap;
      if (end == last.end() || (near && end - last.offset <= limits.size)) {
        last.size = end - last.offset;
        ++into.back().count;
        continue;
      }
    }
    into.push_back({range, i, 1});
  }
}

void read_merged(const Source& source, std::span<const Read> reads, std::span<Status> outcomes) {
  std::vector<std::size_t> order(reads.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return reads[a].offset < reads[b].offset; });
  std::vector<Range> ranges;
  for (const std::size_t k : order) ranges.push_back({reads[k].offset, reads[k].into.size()});
  std::vector<MergedRange> merged;
  merge(ranges, {}, merged);
  std::vector<std::vector<std::byte>> shared(merged.size());  // of reads that became one
  std::vector<Read> fewer;
  for (std::size_t m = 0; m < merged.size(); ++m) {
    const MergedRange& one = merged[m];
    if (one.count > 1) shared[m].resize(std::size_t(one.range.size));
    fewer.push_back(one.count > 1 ? Read{one.range.offset, shared[m]} : reads[order[one.first]]);
  }
  std::vector<Status> results(fewer.size());
  source.read_batch(fewer, results);
  for (std::size_t m = 0; m < merged.size(); ++m) {
    const MergedRange& one = merged[m];
    for (std::size_t i = one.first; i < one.first + one.count; ++i) {
      const Read& read = reads[order[i]];
      outcomes[order[i]] = results[m];
      if (one.count == 1 || !results[m].ok() || read.into.empty()) continue;
      std::memcpy(read.into.data(), shared[m].data() + (read.offset - one.range.offset),
                  read.into.size());
    }
  }
}

}  // namespace penstock::storage

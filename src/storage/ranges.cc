#include "storage/ranges.h"

#include <algorithm>

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

}  // namespace penstock::storage

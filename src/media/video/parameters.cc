#include "media/video/parameters.h"

#include <algorithm>
#include <utility>

namespace penstock::media {
namespace {

bool is_palette(const av::ParameterSet& set) {
  return set.kind == av::ParameterSet::kPalette;
}

// A header takes the place of all sets but palettes. The one that the container began with is none
// of them.
bool put_header(const av::ParameterSet& header, ParameterSets& sets) {
  const bool other = !sets.empty() && sets.front().kind == av::ParameterSet::kHeader;
  const bool strange = std::any_of(sets.begin(), sets.end(), [](const av::ParameterSet& one) {
    return !one.own && !is_palette(one);
  });
  const bool changes = other ? sets.front().bytes != header.bytes : !header.own || strange;
  std::erase_if(sets, [](const av::ParameterSet& one) { return !is_palette(one); });
  if (!header.own) sets.insert(sets.begin(), header);
  return changes;
}

}  // namespace

bool put_set(const av::ParameterSet& set, ParameterSets& sets) {
  if (set.kind == av::ParameterSet::kHeader) return put_header(set, sets);
  const auto at = std::lower_bound(
      sets.begin(), sets.end(), set, [](const av::ParameterSet& a, const av::ParameterSet& b) {
        return std::pair(a.kind, a.number) < std::pair(b.kind, b.number);
      });
  if (at != sets.end() && at->kind == set.kind && at->number == set.number) {
    const bool changes = at->bytes != set.bytes;
    if (changes) *at = set;
    return changes;
  }
  const bool other = !sets.empty() && sets.front().kind == av::ParameterSet::kHeader;
  sets.insert(at, set);
  return other || !set.own;
}

bool carries_sets(const ParameterSets& sets) {
  return !std::all_of(sets.begin(), sets.end(), is_palette);
}

ParameterSets sets_at(const std::vector<ParameterChange>& changes, std::uint32_t packet) {
  ParameterSets sets;
  for (const ParameterChange& change : changes) {
    if (change.packet > packet) break;
    put_set(change.set, sets);
  }
  return sets;
}

}  // namespace penstock::media

#include "storage/read_ahead.h"

#include <algorithm>
#include <tuple>

namespace penstock::storage {

bool ReadAhead::begin() noexcept {
  if (left_out_ > 0) {
    --left_out_;
    return false;
  }
  bytes_ = 0;
  from_disk_ = false;
  return true;
}

void ReadAhead::add(std::shared_ptr<const Source> source, Range range) {
  if (full()) return;
  range.size = std::min(range.size, kMostBytes - bytes_);
  bytes_ += range.size;
  wanted_.push_back({std::move(source), range});
  if (wanted_.size() == kMostWanted) ask();
}

void ReadAhead::end() {
  ask();
  pause_ = from_disk_ ? 0 : std::min(2 * pause_ + 1, kMostLeftOut);
  left_out_ = pause_;
}

void ReadAhead::ask() {
  const auto before = [](const Wanted& a, const Wanted& b) {
    return std::tuple(a.source.get(), a.range.offset) < std::tuple(b.source.get(), b.range.offset);
  };
  std::sort(wanted_.begin(), wanted_.end(), before);
  for (std::size_t first = 0; first < wanted_.size();) {
    const Source& source = *wanted_[first].source;
    ranges_.clear();
    for (; first < wanted_.size() && wanted_[first].source.get() == &source; ++first) {
      ranges_.push_back(wanted_[first].range);
    }
    merge(ranges_, {}, merged_);
    for (const MergedRange& one : merged_) from_disk_ |= source.read_ahead(one.range);
  }
  wanted_.clear();
}

}  // namespace penstock::storage

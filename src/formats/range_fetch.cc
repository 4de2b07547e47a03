#include "formats/range_fetch.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace penstock::formats {

std::size_t RangeFetch::add(BytesAt place) {
  wanted_.push_back({std::move(place)});
  return wanted_.size() - 1;
}

void RangeFetch::merge() {
  std::vector<std::size_t> order(wanted_.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  const auto key = [&](std::size_t k) {
    return std::tuple(wanted_[k].place.source.get(), wanted_[k].place.range.offset, k);
  };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<storage::Range> ranges;
  std::vector<storage::MergedRange> merged;
  for (std::size_t first = 0; first < order.size();) {
    const auto& source = wanted_[order[first]].place.source;
    ranges.clear();
    std::size_t end = first;
    for (; end < order.size() && wanted_[order[end]].place.source == source; ++end) {
      ranges.push_back(wanted_[order[end]].place.range);
    }
    storage::merge(ranges, {}, merged);
    for (const storage::MergedRange& range : merged) {
      for (std::size_t i = range.first; i < range.first + range.count; ++i) {
        wanted_[order[first + i]].request = requests_.size();
      }
      requests_.push_back({source, range.range});
    }
    first = end;
  }
}

std::uint64_t RangeFetch::bytes() const noexcept {
  std::uint64_t all = 0;
  for (const BytesAt& request : requests_) all += request.range.size;
  return all;
}

void RangeFetch::start(BufferPool& pool, std::function<void()> done) {
  state_->outcomes.resize(requests_.size());
  state_->memory.resize(requests_.size());
  state_->done = std::move(done);
  state_->left = requests_.size() + 1;  // one for this function
  const storage::Abandoned abandoned(state_, &state_->abandoned);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const auto& [source, range] = requests_[i];
    const auto finished = [state = state_, i](Status status) {
      state->outcomes[i] = std::move(status);
      state->finish_one();
    };
    const auto size = std::size_t(range.size);
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
    if (!memory) {
      finished(std::move(memory).error());
      continue;
    }
    state_->memory[i] = *std::move(memory);
    source->start({range.offset, state_->memory[i].bytes().first(size)}, finished, abandoned);
  }
  state_->finish_one();
}

Result<RangeFetch::Piece> RangeFetch::get(std::size_t number) const {
  const One& one = wanted_[number];
  if (!state_->outcomes[one.request].ok()) return state_->outcomes[one.request].error();
  const Buffer& memory = state_->memory[one.request];
  const std::uint64_t at = one.place.range.offset - requests_[one.request].range.offset;
  return Piece{memory, memory.bytes().subspan(std::size_t(at), std::size_t(one.place.range.size))};
}

}  // namespace penstock::formats

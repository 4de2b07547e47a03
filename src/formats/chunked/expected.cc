#include "formats/chunked/expected.h"

#include <algorithm>
#include <cstring>

namespace penstock::formats::chunked {
namespace {

constexpr std::uint64_t kPerRow = 128;     // to find it
constexpr std::uint64_t kMost = 16 << 10;  // rows: more would take long to tell

}  // namespace

ExpectedRows::ExpectedRows(std::uint64_t budget, std::vector<Layout> arrays)
    : budget_(budget), arrays_(std::move(arrays)), chunks_(arrays_.size()) {
  std::uint64_t all = 0;
  for (std::size_t a = 0; a < arrays_.size(); ++a) all += cost(a);
  capacity_ = all == 0 ? 0 : std::min(budget_ / all, kMost);
}

std::uint64_t ExpectedRows::cost(std::size_t array) const noexcept {
  return arrays_[array].row_bytes + kPerRow;
}

void ExpectedRows::expect(std::span<const std::uint64_t> rows) {
  const std::lock_guard hold(mutex_);
  for (const std::uint64_t row : rows) {
    const std::uint64_t number = next_number_++;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      chunks_[a][row / arrays_[a].chunk_rows].push_back({row, number, {}});
    }
    told_.emplace_back(row, number);
  }
  // Batches under way come on top of what is known ahead.
  while (told_.size() > capacity_ + capacity_ / 2) {
    const auto [row, number] = told_.front();
    told_.pop_front();
    const auto is_it = [number = number](const Row& one) { return one.number == number; };
    for (std::size_t a = 0; a < arrays_.size(); ++a) (void)remove(a, row, is_it);
  }
}

template <class IsIt>
Buffer ExpectedRows::remove(std::size_t array, std::uint64_t row, const IsIt& is_it) {
  const auto chunk = chunks_[array].find(row / arrays_[array].chunk_rows);
  if (chunk == chunks_[array].end()) return {};
  std::vector<Row>& rows = chunk->second;
  const auto found = std::find_if(rows.begin(), rows.end(), is_it);
  if (found == rows.end()) return {};
  Buffer memory = std::move(found->memory);
  if (memory) used_ -= cost(array);
  *found = std::move(rows.back());
  rows.pop_back();
  if (rows.empty()) chunks_[array].erase(chunk);
  return memory;
}

void ExpectedRows::take(std::span<const std::uint64_t> rows, std::span<Buffer> into) {
  const std::lock_guard hold(mutex_);
  if (told_.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto is_it = [row = rows[i]](const Row& one) { return one.row == row; };
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      into[i * arrays_.size() + a] = remove(a, rows[i], is_it);
    }
  }
}

void ExpectedRows::keep(std::size_t array, std::uint64_t chunk, const Buffer& unpacked,
                        BufferPool& pool) {
  const auto size = std::size_t(arrays_[array].row_bytes);
  const std::lock_guard hold(mutex_);
  const auto found = chunks_[array].find(chunk);
  if (found == chunks_[array].end()) return;
  for (Row& one : found->second) {
    if (one.memory) continue;
    if (used_ + cost(array) > budget_) return;
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
    if (!memory) return;  // it is unpacked again when its time comes
    const auto at = std::size_t(one.row % arrays_[array].chunk_rows) * size;
    if (size > 0) std::memcpy(memory->data(), unpacked.data() + at, size);
    one.memory = *std::move(memory);
    used_ += cost(array);
  }
}

bool ExpectedRows::holds(std::size_t array, std::uint64_t row) const {
  const std::lock_guard hold(mutex_);
  if (told_.empty()) return false;
  const auto chunk = chunks_[array].find(row / arrays_[array].chunk_rows);
  return chunk != chunks_[array].end() &&
         std::any_of(chunk->second.begin(), chunk->second.end(),
                     [&](const Row& one) { return one.row == row && bool(one.memory); });
}

std::uint64_t ExpectedRows::used() const {
  const std::lock_guard hold(mutex_);
  return used_;
}

}  // namespace penstock::formats::chunked

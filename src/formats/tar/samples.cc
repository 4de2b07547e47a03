#include "formats/tar/samples.h"

#include <algorithm>
#include <utility>

namespace penstock::formats::tar {

void Samples::add(std::string_view key, const Part& part, std::uint64_t start) {
  const bool same_key = is_open_ && open_.key == key;
  const bool repeats =
      same_key && std::any_of(open_.parts.begin(), open_.parts.end(),
                              [&](const Part& p) { return p.field == part.field; });
  if (!same_key || repeats) {
    close();
    begin(key, start);
    if (repeats) open_.spoil(Trouble::duplicate, start);
  } else if (!gaps_.empty()) {
    open_.spoil(Trouble::damaged, gaps_.front().at);
    gaps_.clear();
  }
  open_.parts.push_back(part);
}

void Samples::begin(std::string_view key, std::uint64_t start) {
  open_.key.assign(key);
  open_.parts.clear();
  open_.start = start;
  open_.trouble = Trouble::none;
  is_open_ = true;
  if (gaps_.empty()) return;
  Gap& nearest = gaps_.back();
  if (nearest.key == key) {
    open_.spoil(Trouble::damaged, nearest.at);
    nearest.has_owner = true;
  }
  before_.swap(gaps_);
  gaps_.clear();
}

void Samples::damage(std::string_view key, std::uint64_t at) {
  const bool of_open = is_open_ && open_.key == key;
  if (of_open) open_.spoil(Trouble::damaged, at);
  if (!gaps_.empty() && gaps_.back().key == key) return;  // of the same sample
  gaps_.push_back({at, std::string(key), of_open});
}

void Samples::close() {
  if (!is_open_) return;
  is_open_ = false;
  if (!gaps_.empty() && open_.trouble == Trouble::none && lacks_a_field(open_)) {
    open_.spoil(Trouble::damaged, gaps_.front().at);
    gaps_.front().has_owner = true;
  }
  const bool sound = open_.trouble == Trouble::none && gaps_.empty() && before_.empty();
  if (sound && !usual_known_) {
    usual_known_ = true;
    for (const Part& part : open_.parts) usual_.push_back(part.field);
  }
  push(open_, std::exchange(before_, {}), !gaps_.empty() && !usual_known_);
  if (usual_known_) decide();
}

void Samples::abandon() noexcept {
  is_open_ = false;
  gaps_.clear();
  before_.clear();
}

void Samples::finish(std::optional<std::uint64_t> cut_at) {
  if (is_open_ && cut_at && lacks_a_field(open_)) open_.spoil(Trouble::cut, *cut_at);
  const bool alone = first_ == last_ && is_open_ && !usual_known_;
  close();
  if (!usual_known_) learn_from_all();
  if (!gaps_.empty() && alone && cut_at) {  // nothing tells which fields it should have
    finished_[first_].sample.spoil(Trouble::cut, *cut_at);
    gaps_.front().has_owner = true;
  }
  decide();
  for (const Gap& gap : std::exchange(gaps_, {})) {
    if (gap.has_owner) continue;
    Sample lost = lost_at(gap);
    push(lost, {}, false);
  }
}

// No sample was sound: what any of them has is usual.
void Samples::learn_from_all() {
  usual_known_ = true;
  for (std::size_t i = first_; i < last_; ++i) {
    for (const Part& part : finished_[i].sample.parts) usual_.push_back(part.field);
  }
}

void Samples::push(Sample& sample, std::vector<Gap> before, bool gap_behind) {
  if (last_ == finished_.size()) finished_.emplace_back();
  Finished& slot = finished_[last_++];
  std::swap(slot.sample, sample);
  slot.before = std::move(before);
  slot.gap_behind = gap_behind;
}

// Now that it is known which fields samples have: whose was the damage between two of them?
void Samples::decide() {
  for (std::size_t i = first_; i < last_; ++i) {
    Finished& slot = finished_[i];
    std::vector<Gap> before = std::exchange(slot.before, {});
    // One that is bad anyway has lost its field there.
    const bool sound = slot.sample.trouble == Trouble::none;
    if (!before.empty() && sound && lacks_a_field(slot.sample)) {
      slot.sample.spoil(Trouble::damaged, before.back().at);
      before.back().has_owner = true;
    }
    for (const Gap& gap : before) {
      if (gap.has_owner) continue;
      Finished lost;
      lost.sample = lost_at(gap);
      finished_.insert(finished_.begin() + std::ptrdiff_t(i), std::move(lost));
      ++i, ++last_;
    }
    Finished& again = finished_[i];
    const bool suspect = std::exchange(again.gap_behind, false) &&
                         again.sample.trouble == Trouble::none && lacks_a_field(again.sample);
    if (!suspect) continue;
    std::vector<Gap>& behind = i + 1 < last_ ? finished_[i + 1].before : gaps_;
    if (behind.empty()) continue;
    again.sample.spoil(Trouble::damaged, behind.front().at);
    behind.front().has_owner = true;
  }
}

Sample Samples::lost_at(const Gap& gap) {
  Sample lost;
  lost.key = gap.key;
  lost.start = gap.at;
  lost.spoil(Trouble::damaged, gap.at);
  return lost;
}

bool Samples::lacks_a_field(const Sample& sample) const noexcept {
  return std::any_of(usual_.begin(), usual_.end(), [&](std::uint16_t field) {
    return std::none_of(sample.parts.begin(), sample.parts.end(),
                        [field](const Part& part) { return part.field == field; });
  });
}

bool Samples::take(Sample& into) {
  if (first_ == last_) return false;
  if (!finished_[first_].before.empty() || finished_[first_].gap_behind) return false;
  std::swap(into, finished_[first_++].sample);
  if (first_ == last_) first_ = last_ = 0;
  return true;
}

std::uint64_t Samples::oldest(std::uint64_t otherwise) const noexcept {
  if (first_ != last_) return finished_[first_].sample.start;
  return is_open_ ? open_.start : otherwise;
}

}  // namespace penstock::formats::tar

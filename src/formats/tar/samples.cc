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
  } else if (gap_) {
    open_.spoil(Trouble::damaged, gap_->at);
    gap_.reset();
  }
  open_.parts.push_back(part);
}

void Samples::begin(std::string_view key, std::uint64_t start) {
  open_.key.assign(key);
  open_.parts.clear();
  open_.start = start;
  open_.trouble = Trouble::none;
  is_open_ = true;
  if (!gap_) return;
  if (gap_->key == key) {
    open_.spoil(Trouble::damaged, gap_->at);
  } else {
    before_ = std::move(gap_);
  }
  gap_.reset();
}

void Samples::damage(std::string_view key, std::uint64_t at) {
  const bool of_open = is_open_ && open_.key == key;
  if (of_open) open_.spoil(Trouble::damaged, at);
  if (!gap_ || (gap_->has_owner && !of_open)) {
    gap_ = Gap{at, std::string(key), of_open};
  } else if (!of_open) {
    gap_->key = key;  // the nearest to what comes next
  }
}

void Samples::close() {
  if (!is_open_) return;
  is_open_ = false;
  if (gap_ && open_.trouble == Trouble::none && lacks_a_field(open_)) {
    open_.spoil(Trouble::damaged, gap_->at);
    gap_->has_owner = true;
  }
  const bool sound = open_.trouble == Trouble::none && !gap_ && !before_;
  if (sound && !usual_known_) {
    usual_known_ = true;
    for (const Part& part : open_.parts) usual_.push_back(part.field);
  }
  push(open_, std::exchange(before_, std::nullopt), gap_ && !usual_known_);
  if (usual_known_) decide();
}

void Samples::abandon() noexcept {
  is_open_ = false;
  gap_.reset();
  before_.reset();
}

void Samples::finish(std::optional<std::uint64_t> cut_at) {
  if (is_open_ && cut_at && lacks_a_field(open_)) open_.spoil(Trouble::cut, *cut_at);
  const bool alone = first_ == last_ && is_open_ && !usual_known_;
  close();
  if (!usual_known_) learn_from_all();
  if (gap_ && alone && cut_at) {  // nothing tells which fields it should have
    finished_[first_].sample.spoil(Trouble::cut, *cut_at);
    gap_->has_owner = true;
  }
  decide();
  const auto gap = std::exchange(gap_, std::nullopt);
  if (!gap || gap->has_owner) return;
  Sample lost;
  lost.key = gap->key;
  lost.start = gap->at;
  lost.spoil(Trouble::damaged, gap->at);
  push(lost, std::nullopt, false);
}

// No sample was sound: what any of them has is usual.
void Samples::learn_from_all() {
  usual_known_ = true;
  for (std::size_t i = first_; i < last_; ++i) {
    for (const Part& part : finished_[i].sample.parts) usual_.push_back(part.field);
  }
}

void Samples::push(Sample& sample, std::optional<Gap> before, bool gap_behind) {
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
    if (const auto before = std::exchange(slot.before, std::nullopt)) {
      if (lacks_a_field(slot.sample)) slot.sample.spoil(Trouble::damaged, before->at);
      if (slot.sample.trouble == Trouble::none && !before->has_owner) {
        Finished lost;
        lost.sample.key = before->key;
        lost.sample.start = before->at;
        lost.sample.spoil(Trouble::damaged, before->at);
        finished_.insert(finished_.begin() + std::ptrdiff_t(i), std::move(lost));
        ++i, ++last_;
      }
    }
    Finished& again = finished_[i];
    const bool suspect = std::exchange(again.gap_behind, false) &&
                         again.sample.trouble == Trouble::none && lacks_a_field(again.sample);
    if (!suspect) continue;
    std::optional<Gap>& behind = i + 1 < last_ ? finished_[i + 1].before : gap_;
    if (!behind) continue;
    again.sample.spoil(Trouble::damaged, behind->at);
    behind->has_owner = true;
  }
}

bool Samples::lacks_a_field(const Sample& sample) const noexcept {
  return std::any_of(usual_.begin(), usual_.end(), [&](std::uint16_t field) {
    return std::none_of(sample.parts.begin(), sample.parts.end(),
                        [field](const Part& part) { return part.field == field; });
  });
}

bool Samples::take(Sample& into) {
  if (first_ == last_) return false;
  if (finished_[first_].before || finished_[first_].gap_behind) return false;
  std::swap(into, finished_[first_++].sample);
  if (first_ == last_) first_ = last_ = 0;
  return true;
}

std::uint64_t Samples::oldest(std::uint64_t otherwise) const noexcept {
  if (first_ != last_) return finished_[first_].sample.start;
  return is_open_ ? open_.start : otherwise;
}

}  // namespace penstock::formats::tar

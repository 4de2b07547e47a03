#include "data/admission.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <tuple>

#include "data/batch_size.h"
#include "engine/clock.h"

namespace penstock::data {
namespace {

std::int64_t elements(const Dims& shape) {
  std::int64_t all = 1;
  for (const std::int64_t extent : shape) all *= extent;
  return all;
}

// How the records of one leaf are read, from a look at some of them, in order. Those that are
// shuffled inside a window are neither: what the system reads ahead is needed soon.
std::optional<formats::Access> access_of(std::span<const std::uint64_t> records,
                                         std::uint64_t mean_bytes) {
  constexpr std::uint64_t kNear = 64;                         // records: as ranks may stride
  constexpr std::uint64_t kWindow = std::uint64_t(64) << 20;  // bytes
  if (records.size() < 2) return std::nullopt;
  bool forward = true;
  for (std::size_t i = 1; i < records.size(); ++i) {
    forward = forward && records[i] > records[i - 1] && records[i] - records[i - 1] <= kNear;
  }
  if (forward) return formats::Access::sequential;
  const auto [least, most] = std::minmax_element(records.begin(), records.end());
  if ((*most - *least) * mean_bytes > kWindow) return formats::Access::random;
  return std::nullopt;
}

}  // namespace

Admission::Admission(PlanPtr plan, const RunOptions& options)
    : plan_(std::move(plan)),
      options_(options),
      rounds_(options.share, plan_->order.length(), options.start),
      batches_(rounds_.batches()) {
  for (const SlotArray& slot : plan_->slots) {
    slot_bytes_ += size_of(slot.dtype) * static_cast<std::size_t>(elements(slot.shape));
  }
  for (const SourcePtr& source : plan_->sources) {
    in_blocks_ = in_blocks_ || source->block() > 1;
    ahead_ = std::max(ahead_, source->ahead());
    on_disk_ = on_disk_ || source->on_disk();
  }
  listening_ = std::make_shared<RoomListener>();
}

bool Admission::Coming::ready() const noexcept {
  return std::all_of(batch->fetches.begin(), batch->fetches.end(),
                     [](const auto& fetch) { return fetch == nullptr || fetch->ready(); });
}

// Enough is under way to keep all connections busy, in few large ranges or in many small ones; or
// more would take too much memory.
bool Admission::far_enough() const noexcept {
  constexpr std::size_t kMostBatches = 64;
  constexpr std::size_t kFetchAhead = std::size_t(32) << 20, kMemoryAhead = std::size_t(128) << 20;
  if (coming_.size() < 2) return !coming_.empty() && coming_.back().fetch_bytes == 0;
  std::size_t fetched = 0, all = 0;
  for (const Coming& one : coming_) {
    fetched += one.fetch_bytes;
    all += one.all_bytes;
  }
  return coming_.size() >= kMostBatches || fetched >= kFetchAhead || all >= kMemoryAhead;
}

Step Admission::operator()(Context& ctx) {
  // Listen first: room that comes between a failed try and the listening would be missed.
  if (!heard_) {
    heard_ = true;
    *listening_ = options_.budget->on_room([waker = ctx.waker()] { waker.wake(); });
  }
  bool room = true;
  while (room && (!batches_ || next_ < *batches_) && !far_enough()) {
    const Result<bool> admitted = admit(ctx);
    if (!admitted) return ctx.fail(admitted.error(), true);
    room = *admitted;
  }
  if (coming_.empty()) return room ? Step::done : Step::blocked;
  if (!coming_.front().ready()) return Step::blocked;
  BatchPtr batch = std::move(coming_.front().batch);
  coming_.pop_front();
  ctx.emit(Item::of(std::move(batch)));
  return Step::again;
}

Result<bool> Admission::admit(Context& ctx) {
  try {
    if (!waiting_) waiting_ = open();
  } catch (const std::bad_alloc&) {
    return no_memory_for_batch(rounds_.at(next_).rows, 0);
  }
  auto room = options_.budget->try_reserve(std::max<std::size_t>(bytes_, 1));
  if (!room) {
    if (options_.memory_wait && coming_.empty()) options_.memory_wait->begin(engine::now_ns());
    return false;
  }
  if (options_.memory_wait) options_.memory_wait->end(engine::now_ns());
  BatchPtr batch = std::move(waiting_);
  batch->room = std::move(room);
  ++next_;
  for (const auto& fetch : batch->fetches) {
    if (fetch) fetch->start(*options_.encoded, [waker = ctx.waker()] { waker.wake(); });
  }
  coming_.push_back({std::move(batch), fetch_bytes_, bytes_});
  return true;
}

BatchPtr Admission::open() {
  auto batch = std::make_shared<Batch>();
  batch->number = next_;
  batch->epoch = options_.epoch;
  batch->rows = rounds_.at(next_);
  batch->length = plan_->order.length().value_or(0);
  const std::size_t width = plan_->order.width();
  batch->places.resize(batch->rows.rows * width);
  batch->work.resize(batch->rows.rows);
  const std::span<Place> places = batch->places;
  plan_->order.locate(batch->epoch, batch->rows.first, batch->rows.stride,
                      places.first(batch->rows.valid * width));
  for (std::size_t row = batch->rows.valid; row < batch->rows.rows; ++row) {
    plan_->order.locate(batch->epoch, batch->position(row), places.subspan(row * width, width));
  }
  if (next_ == 0) advise(*batch);
  if (in_blocks_ && width == 1) order_reads(*batch);
  if (ahead_ > 0 && width == 1) tell_ahead();
  if (on_disk_) read_ahead();
  bytes_ = (slot_bytes_ + plan_->row_bytes + options_.collator->row_bytes()) * batch->rows.rows;
  plan_fetch(*batch);
  bytes_ += fetch_bytes_ + measure(*batch);
  return batch;
}

// Sets how many encoded bytes a batch has. Returns those that are not fetched but read into memory.
std::size_t Admission::measure(Batch& batch) const {
  std::uint64_t read = 0;
  std::vector<std::uint64_t> records;
  const auto is_fetched = [&](std::size_t i) {
    return !batch.fetched.empty() && batch.fetched[i].fetch != nullptr;
  };
  for (std::size_t run = 0, end = 0; run < batch.places.size(); run = end) {
    const std::uint32_t leaf = batch.places[run].leaf;
    const bool fetched = is_fetched(run);
    records.clear();
    for (; end < batch.places.size(); ++end) {
      if (batch.places[end].leaf != leaf || is_fetched(end) != fetched) break;
      records.push_back(batch.places[end].record);
    }
    if (leaf == Place::kNone) continue;
    const std::uint64_t bytes = plan_->sources[leaf]->bytes_of(records);
    batch.encoded += bytes;
    read += fetched ? 0 : bytes;
  }
  return static_cast<std::size_t>(read);
}

void Admission::plan_fetch(Batch& batch) {
  fetch_bytes_ = 0;
  std::vector<std::uint64_t> records;
  std::vector<std::size_t> at;
  for (std::size_t leaf = 0; leaf < plan_->sources.size(); ++leaf) {
    const Source& source = *plan_->sources[leaf];
    if (!source.from_afar()) continue;
    records.clear(), at.clear();
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      const Place& place = batch.places[i];
      if (place.leaf != leaf || source.at_hand(place.record)) continue;
      records.push_back(place.record);
      at.push_back(i);
    }
    if (records.empty()) continue;
    auto fetch = source.fetch(records);
    if (fetch == nullptr) continue;
    batch.fetched.resize(batch.places.size());
    for (std::size_t k = 0; k < at.size(); ++k) batch.fetched[at[k]] = {fetch.get(), k};
    fetch_bytes_ += static_cast<std::size_t>(fetch->bytes());
    batch.fetches.push_back(std::move(fetch));
  }
}

// Rows whose records lie near one another are read one after the other, so that workers do not
// unpack the same chunk for rows of one batch at different times.
void Admission::order_reads(Batch& batch) const {
  const auto before = [](const Place& a, const Place& b) {
    return std::tie(a.leaf, a.record) < std::tie(b.leaf, b.record);
  };
  if (std::is_sorted(batch.places.begin(), batch.places.end(), before)) return;
  batch.reading.resize(batch.places.size());
  std::iota(batch.reading.begin(), batch.reading.end(), 0U);
  std::sort(batch.reading.begin(), batch.reading.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Place &one = batch.places[a], &other = batch.places[b];
    return std::tie(one.leaf, one.record, a) < std::tie(other.leaf, other.record, b);
  });
}

// Tells the sources which records come next. Filling rows of the last round are not told.
void Admission::tell_ahead() {
  const std::uint64_t batch = std::max<std::uint64_t>(options_.share.batch, 1);
  std::vector<Place> places;
  std::vector<std::uint64_t> records;
  for (; told_ <= next_ + ahead_ / batch && (!batches_ || told_ < *batches_); ++told_) {
    const BatchRows rows = rounds_.at(told_);
    places.resize(rows.valid);
    plan_->order.locate(options_.epoch, rows.first, rows.stride, places);
    for (std::size_t leaf = 0; leaf < plan_->sources.size(); ++leaf) {
      if (plan_->sources[leaf]->ahead() == 0) continue;
      records.clear();
      for (const Place& place : places) {
        if (place.leaf == leaf) records.push_back(place.record);
      }
      plan_->sources[leaf]->expect(records);
    }
  }
}

// Has the disk fetch what the next batches are made of: so many bytes ahead that it always has
// something to do, and not so many that they would be in the way.
void Admission::read_ahead() {
  constexpr std::uint64_t kBytes = std::uint64_t(16) << 20, kBatches = 64;
  while (!asked_.empty() && asked_.front().number < next_) {
    asked_bytes_ -= asked_.front().bytes;
    asked_.pop_front();
  }
  const auto more = [&] {
    return asked_bytes_ < kBytes && asked_until_ < next_ + kBatches &&
           (!batches_ || asked_until_ < *batches_);
  };
  asked_until_ = std::max(asked_until_, next_);
  std::vector<Place> places;
  std::vector<std::uint64_t> records;
  for (; more() && disk_.begin(); ++asked_until_) {
    const BatchRows rows = rounds_.at(asked_until_);
    places.resize(rows.valid * plan_->order.width());
    plan_->order.locate(options_.epoch, rows.first, rows.stride, places);
    for (std::size_t leaf = 0; leaf < plan_->sources.size(); ++leaf) {
      records.clear();
      for (const Place& place : places) {
        if (place.leaf == leaf) records.push_back(place.record);
      }
      plan_->sources[leaf]->tell_places(records, disk_);
    }
    disk_.end();
    asked_.push_back({asked_until_, disk_.told()});
    asked_bytes_ += disk_.told();
  }
}

// Tells the sources how they will be read, from a look at the first batch.
void Admission::advise(const Batch& batch) const {
  std::vector<std::uint64_t> records;
  for (std::size_t leaf = 0; leaf < plan_->sources.size(); ++leaf) {
    records.clear();
    for (const Place& place : batch.places) {
      if (place.leaf == leaf) records.push_back(place.record);
    }
    const Source& source = *plan_->sources[leaf];
    if (const auto access = access_of(records, source.mean_bytes())) source.advise(*access);
  }
}

}  // namespace penstock::data

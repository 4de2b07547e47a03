#include "data/cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace penstock::data {
namespace {

constexpr std::uint64_t kPerRecord = 128;  // to find it
constexpr std::uint64_t kPerField = sizeof(RowField);

const Bytes* bytes_of(const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return text;
  return std::get_if<Bytes>(&value);
}

std::uint64_t bytes_in(const Value& value) {
  std::uint64_t all = 0;
  if (const Bytes* bytes = bytes_of(value)) all += bytes->bytes.size();
  if (const auto* array = std::get_if<Tensor>(&value)) all += array->nbytes();
  if (const auto* list = std::get_if<BytesList>(&value)) {
    for (const std::span<const std::byte> item : list->items) all += sizeof(item) + item.size();
  }
  if (const auto* list = std::get_if<ListPtr>(&value)) {
    for (const Value& item : (*list)->items) all += sizeof(item) + bytes_in(item);
  }
  if (const auto* json = std::get_if<JsonPtr>(&value)) all += (*json)->bytes();
  return all;
}

std::uint64_t bytes_in(const Row& row) {
  std::uint64_t all = kPerRecord;
  for (const RowField& field : row.fields) all += kPerField + bytes_in(field.value);
  return all;
}

// Arrays are handed out again and again: nobody may write into them.
Status protect(Value& value) {
  if (const auto* list = std::get_if<ListPtr>(&value)) {
    List own = **list;
    for (Value& item : own.items) {
      if (Status status = protect(item); !status) return status;
    }
    value = std::make_shared<const List>(std::move(own));
    return {};
  }
  auto* array = std::get_if<Tensor>(&value);
  if (array == nullptr || array->read_only()) return {};
  if (!array->is_contiguous()) {
    Result<Tensor> dense = array->clone();
    if (!dense) return std::move(dense).error();
    *array = *std::move(dense);
  }
  Buffer memory =
      Buffer::wrap_read_only(array->raw(), array->nbytes(), [keep = array->buffer()] {});
  Result<Tensor> made = Tensor::over(std::move(memory), array->dtype(), array->shape());
  if (!made) return std::move(made).error();
  *array = *std::move(made);
  return {};
}

Status protect(Row& row) {
  for (RowField& field : row.fields) {
    if (Status status = protect(field.value); !status) return status;
  }
  return {};
}

Result<BytesList> copy_of(const BytesList& list) {
  std::size_t size = 0;
  for (const std::span<const std::byte> item : list.items) size += item.size();
  Result<Buffer> memory = Buffer::allocate(std::max<std::size_t>(size, 1));
  if (!memory) return std::move(memory).error();
  BytesList own{{}, *memory};
  std::span<std::byte> room = memory->bytes();
  for (const std::span<const std::byte> item : list.items) {
    std::copy(item.begin(), item.end(), room.begin());
    own.items.push_back(room.first(item.size()));
    room = room.subspan(item.size());
  }
  return own;
}

// Arrays and lists in memory of their own; texts and bytes as they are.
Status detach(Value& value) {
  if (auto* array = std::get_if<Tensor>(&value)) {
    Result<Tensor> copy = array->clone();
    if (!copy) return std::move(copy).error();
    *array = *std::move(copy);
  }
  if (auto* list = std::get_if<BytesList>(&value)) {
    Result<BytesList> copy = copy_of(*list);
    if (!copy) return std::move(copy).error();
    *list = *std::move(copy);
  }
  if (const auto* list = std::get_if<ListPtr>(&value)) {
    List copy = **list;
    for (Value& item : copy.items) {
      if (Status status = detach(item); !status) return status;
    }
    value = std::make_shared<const List>(std::move(copy));
  }
  return {};
}

// The same row in memory of its own, which no pool waits for.
Result<Row> copy_of(const Row& row) {
  std::size_t size = 0;
  for (const RowField& field : row.fields) {
    if (const Bytes* bytes = bytes_of(field.value)) size += bytes->bytes.size();
  }
  Result<Buffer> memory = Buffer::allocate(std::max<std::size_t>(size, 1));
  if (!memory) return std::move(memory).error();
  std::span<std::byte> room = memory->bytes();
  Row copy = row;
  for (RowField& field : copy.fields) {
    if (Status status = detach(field.value); !status) return std::move(status).error();
    const Bytes* bytes = bytes_of(field.value);
    if (bytes == nullptr) continue;
    const std::size_t count = bytes->bytes.size();
    if (count > 0) std::memcpy(room.data(), bytes->bytes.data(), count);
    const Bytes own{room.first(count), *memory, {}};
    field.value = std::holds_alternative<Text>(field.value) ? Value(Text{own}) : Value(own);
    room = room.subspan(count);
  }
  if (Status status = protect(copy); !status) return std::move(status).error();
  return copy;
}

}  // namespace

// In parts with a lock each: threads seldom meet.
struct CachedSource::Store {
  struct Part {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, Row> rows;
  };
  explicit Store(std::uint64_t bytes) : limit(bytes) {}

  Part& part_of(std::uint64_t record) { return parts[record % parts.size()]; }

  // Room for so many bytes is the caller's from now on.
  bool take(std::uint64_t bytes) {
    std::uint64_t now = used.load(std::memory_order_relaxed);
    while (now <= limit && bytes <= limit - now) {
      if (used.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  const std::uint64_t limit;
  std::atomic<std::uint64_t> used = 0;
  std::array<Part, 61> parts;
};

CachedSource::CachedSource(SourcePtr source, std::vector<StepPtr> steps, std::uint64_t limit)
    : source_(std::move(source)),
      steps_(std::move(steps)),
      store_(std::make_unique<Store>(limit)) {}

CachedSource::~CachedSource() = default;

std::uint64_t CachedSource::used() const noexcept {
  return store_->used.load(std::memory_order_relaxed);
}

bool CachedSource::at_hand(std::uint64_t record) const {
  Store::Part& part = store_->part_of(record);
  const std::lock_guard lock(part.mutex);
  return part.rows.contains(record);
}

void CachedSource::tell_places(std::span<const std::uint64_t> records,
                               storage::ReadAhead& ahead) const {
  std::vector<std::uint64_t> others;
  std::copy_if(records.begin(), records.end(), std::back_inserter(others),
               [this](std::uint64_t record) { return !at_hand(record); });
  source_->tell_places(others, ahead);
}

Status CachedSource::read(std::uint64_t record, BufferPool& pool, Row& into) const {
  return read_fetched(record, {}, pool, into);
}

Status CachedSource::read_fetched(std::uint64_t record, const Fetched& fetched, BufferPool& pool,
                                  Row& into) const {
  Store::Part& part = store_->part_of(record);
  {
    const std::lock_guard lock(part.mutex);
    if (const auto found = part.rows.find(record); found != part.rows.end()) {
      into.fields.insert(into.fields.end(), found->second.fields.begin(),
                         found->second.fields.end());
      return {};
    }
  }
  Row row;
  Status read = fetched.fetch == nullptr ? source_->read(record, pool, row)
                                         : source_->read_fetched(record, fetched, pool, row);
  if (!read) return read;
  const RowTask task{RandomKey(0, 0), record, pool};
  for (const StepPtr& step : steps_) {
    if (Status status = step->run(task, row); !status) return status;
  }
  if (Status status = keep(record, row); !status) return status;
  if (Status status = protect(row); !status) return status;
  std::move(row.fields.begin(), row.fields.end(), std::back_inserter(into.fields));
  return {};
}

Status CachedSource::keep(std::uint64_t record, const Row& row) const {
  const std::uint64_t size = bytes_in(row);
  if (!store_->take(size)) return {};
  Result<Row> copy = copy_of(row);
  if (!copy) {
    store_->used.fetch_sub(size, std::memory_order_relaxed);
    return std::move(copy).error();
  }
  Store::Part& part = store_->part_of(record);
  const std::lock_guard lock(part.mutex);
  const bool added = part.rows.try_emplace(record, *std::move(copy)).second;
  // Another thread has read the same record meanwhile.
  if (!added) store_->used.fetch_sub(size, std::memory_order_relaxed);
  return {};
}

}  // namespace penstock::data

#include "formats/chunked/hdf5/global_heap.h"

#include <algorithm>

namespace penstock::formats::hdf5 {
namespace {

constexpr std::uint64_t kHead = 16;         // of a collection, and of an object
constexpr std::uint64_t kUsual = 4096;      // of a collection; libhdf5 makes none that is smaller
constexpr std::uint64_t kWhole = 64 << 10;  // up to here a collection may hold many objects
constexpr std::uint64_t kUndefined = ~std::uint64_t(0);

struct Object {
  std::uint64_t number = 0, at = 0, size = 0;  // `at`: of its bytes, in the collection
};

}  // namespace

struct GlobalHeap::Collection {
  Bytes bytes;                  // all of it; none if it is larger than kWhole
  std::vector<Object> objects;  // by number

  std::uint64_t used() const noexcept {
    return sizeof(Collection) + bytes.size() + objects.size() * sizeof(Object) + 64;
  }
};

GlobalHeap::GlobalHeap(std::shared_ptr<const storage::Source> source, std::uint64_t base,
                       std::uint64_t budget)
    : source_(std::move(source)), file_(*source_, base, true), budget_(budget) {}

GlobalHeap::~GlobalHeap() = default;

Status GlobalHeap::read(std::span<const std::byte, kReferenceBytes> reference,
                        std::uint64_t item_bytes, Bytes& into) const {
  into.clear();
  Reader reader(reference);
  const std::uint64_t count = reader.number(4), address = reader.number(8),
                      number = reader.number(4);
  if (count == 0 || address == 0 || address == kUndefined) return {};
  const Result<CollectionPtr> found = collection(address);
  if (!found) return found.error();
  const std::vector<Object>& objects = (*found)->objects;
  const auto object =
      std::lower_bound(objects.begin(), objects.end(), number,
                       [](const Object& one, std::uint64_t wanted) { return one.number < wanted; });
  if (object == objects.end() || object->number != number) {
    return file_.damaged("there is no object " + std::to_string(number) + " in a collection",
                         address);
  }
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(count, item_bytes, &size) || size != object->size) {
    return file_.damaged("object " + std::to_string(number) + " of a collection has " +
                             std::to_string(object->size) + " bytes, not " + std::to_string(count) +
                             " x " + std::to_string(item_bytes),
                         address);
  }
  into.resize(std::size_t(size));
  if ((*found)->bytes.empty()) return source_->read(file_.base() + address + object->at, into);
  std::copy_n((*found)->bytes.begin() + std::ptrdiff_t(object->at), size, into.begin());
  return {};
}

Result<GlobalHeap::CollectionPtr> GlobalHeap::collection(std::uint64_t address) const {
  if (CollectionPtr known = find(address)) return known;
  Result<CollectionPtr> parsed = parse(address);
  if (parsed) keep(address, *parsed);
  return parsed;
}

// Of a large one only the heads of objects are read: mostly there is one.
Result<GlobalHeap::CollectionPtr> GlobalHeap::parse(std::uint64_t address) const {
  if (!file_.holds(address, kHead)) return file_.outside(address);
  Result<Bytes> start = file_.read(address, std::min(kUsual, file_.size() - address));
  if (!start) return std::move(start).error();
  Reader head{std::span<const std::byte>(*start)};
  const std::span<const std::byte> mark = head.take(4);
  const std::uint64_t version = head.number(1);
  head.take(3);
  const std::uint64_t size = head.number(8);
  if (!begins(mark, "GCOL") || version != 1 || size < kHead) {
    return file_.damaged("there is no collection of texts or lists", address);
  }
  if (!file_.holds(address, size)) return file_.outside(address);
  auto made = std::make_shared<Collection>();
  if (size <= kWhole) {
    made->bytes = *std::move(start);
    const std::size_t there = std::min(made->bytes.size(), std::size_t(size));
    made->bytes.resize(std::size_t(size));
    const auto rest = std::span(made->bytes).subspan(there);
    Status status = source_->read(file_.base() + address + there, rest);
    if (!rest.empty() && !status) return std::move(status).error();
  }
  for (std::uint64_t at = kHead; size - at >= kHead;) {
    Bytes own;
    std::span<const std::byte> bytes;
    if (size <= kWhole) {
      bytes = std::span(made->bytes).subspan(std::size_t(at), std::size_t(kHead));
    } else {
      Result<Bytes> read = file_.read(address + at, kHead);
      if (!read) return std::move(read).error();
      own = *std::move(read);
      bytes = own;
    }
    Reader reader(bytes);
    Object object{reader.number(2), at + kHead, 0};
    reader.take(6);
    object.size = reader.number(8);
    if (object.number == 0) {
      if (object.size == size - at) break;
      return file_.damaged("the free space of a collection has a wrong size", address + at);
    }
    const std::uint64_t left = size - object.at;
    const std::uint64_t padding = (8 - object.size % 8) % 8;
    if (object.size > left || padding > left - object.size || made->objects.size() > 0xffff) {
      return file_.damaged("an object reaches beyond its collection", address + at);
    }
    at = object.at + object.size + padding;
    made->objects.push_back(object);
  }
  const auto by_number = [](const Object& a, const Object& b) { return a.number < b.number; };
  std::sort(made->objects.begin(), made->objects.end(), by_number);
  const auto same =
      std::adjacent_find(made->objects.begin(), made->objects.end(),
                         [](const Object& a, const Object& b) { return a.number == b.number; });
  if (same != made->objects.end()) {
    return file_.damaged(
        "a collection has object " + std::to_string(same->number) + " more than once", address);
  }
  return CollectionPtr(std::move(made));
}

GlobalHeap::CollectionPtr GlobalHeap::find(std::uint64_t address) const {
  const std::lock_guard hold(mutex_);
  const auto known = places_.find(address);
  if (known == places_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, known->second);
  return known->second->collection;
}

void GlobalHeap::keep(std::uint64_t address, const CollectionPtr& collection) const {
  const std::lock_guard hold(mutex_);
  if (collection->used() > budget_ || places_.contains(address)) return;
  kept_.push_front({address, collection});
  places_.emplace(address, kept_.begin());
  used_ += collection->used();
  while (used_ > budget_) {
    used_ -= kept_.back().collection->used();
    places_.erase(kept_.back().address);
    kept_.pop_back();
  }
}

}  // namespace penstock::formats::hdf5

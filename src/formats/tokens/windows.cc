#include "formats/tokens/windows.h"

#include <algorithm>

#include "formats/digest.h"
#include "formats/range_fetch.h"
#include "formats/tokens/widen.h"
#include "storage/fault_guard.h"
#include "storage/read_ahead.h"

namespace penstock::formats::tokens {
namespace {

// The fields, by number.
enum : std::size_t { kTokens, kLength, kDocument };

// Windows are asked for before they are looked at, so that misses of the cache overlap.
void ask_for(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 4096;
  const std::size_t first = std::min(bytes.size(), kMost);
  for (std::size_t at = 0; at < first; at += 64) __builtin_prefetch(bytes.data() + at);
}

std::vector<std::string> names_of(const std::vector<File>& files) {
  std::vector<std::string> names;
  for (const File& file : files) names.push_back(file.name);
  return names;
}

std::vector<storage::Stamp> stamps_of(const std::vector<File>& files) {
  std::vector<storage::Stamp> stamps;
  for (const File& file : files) stamps.push_back(file.stamp);
  return stamps;
}

}  // namespace

Windows::Windows(Options options, std::vector<File> files)
    : options_(std::move(options)),
      files_(std::move(files)),
      open_(names_of(files_), stamps_of(files_)),
      item_(size_of(options_.dtype)) {
  fields_ = {"tokens"};
  if (by_document()) fields_.insert(fields_.end(), {"length", "document"});
  const std::vector<std::string> names = names_of(files_);
  const std::size_t root = common_folder(names);
  Digest digest;
  digest.add("tokens");
  digest.add(name_of(options_.dtype));
  digest.add(options_.window);
  digest.add(options_.stride);
  for (std::size_t f = 0; f < files_.size(); ++f) {
    if (files_[f].map) (void)open_.open(f);  // now: others may replace it later
    digest.add(std::string_view(names[f]).substr(root));
    digest.add(files_[f].tokens);
    if (!by_document()) {
      add({std::uint32_t(f), 0, files_[f].tokens});
      continue;
    }
    const std::vector<std::uint64_t>& starts = options_.documents[f];
    for (std::size_t d = 0; d < starts.size(); ++d) {
      const std::uint64_t end = d + 1 < starts.size() ? starts[d + 1] : files_[f].tokens;
      add({std::uint32_t(f), starts[d], end - starts[d]});
    }
    digest.add(starts.size());
  }
  digest.add(size());
  digest_ = digest.value();
}

void Windows::add(const Stretch& stretch) {
  const std::uint64_t window = options_.window, stride = options_.stride;
  std::uint64_t count = 0;
  if (stretch.size >= window) {
    const std::uint64_t behind = stretch.size - window;  // of the first window
    count = 1 + behind / stride;
    // A document's tokens are all in a window, unless the stride leaves some out.
    if (by_document() && behind % stride != 0 && count <= (stretch.size - 1) / stride) ++count;
  } else if (by_document() && stretch.size > 0) {
    count = 1;
  }
  stretches_.push_back(stretch);
  firsts_.push_back(firsts_.back() + count);
}

Windows::Place Windows::find(std::uint64_t index) const noexcept {
  const auto above = std::upper_bound(firsts_.begin(), firsts_.end(), index);
  const auto s = std::size_t(above - firsts_.begin()) - 1;
  const Stretch& stretch = stretches_[s];
  const std::uint64_t start = (index - firsts_[s]) * options_.stride;
  return {s, stretch.file, stretch.start + start, std::min(options_.window, stretch.size - start)};
}

Error Windows::beyond(std::uint64_t index) const {
  return Error(Code::out_of_range, "there is no window " + std::to_string(index) + "; there are " +
                                       std::to_string(size()));
}

std::span<const std::byte> Windows::mapped(const Place& place) const noexcept {
  if (place.tokens == 0) return {};
  const Buffer& map = files_[place.file].map;
  if (!map) return {};
  return map.bytes().subspan(std::size_t(place.token * item_), std::size_t(place.tokens * item_));
}

Status Windows::still_whole(std::uint32_t file, Looked& looked) const {
  for (const auto& [number, status] : looked) {
    if (number == file) return status;
  }
  looked.emplace_back(file, open_.still_whole(file));
  return looked.back().second;
}

// Of a file that is far away.
Result<Buffer> Windows::read_source(const Place& place, BufferPool& pool) const {
  const File& file = files_[place.file];
  const auto bytes = std::size_t(place.tokens * item_);
  Result<Buffer> memory = pool.allocate(std::max<std::size_t>(bytes, 1));
  if (!memory) return Error(memory.error()).in_file(file.name);
  Status status = file.source->read(place.token * item_, memory->bytes().first(bytes));
  if (!status) return std::move(status).error();
  return memory;
}

Status Windows::read(std::uint64_t index, BufferPool& pool, Record& into) const {
  Looked looked;
  return read(index, pool, into, looked);
}

Status Windows::read(std::uint64_t index, BufferPool& pool, Record& into, Looked& looked) const {
  into.clear();
  if (index >= size()) return beyond(index);
  const Place place = find(index);
  const File& file = files_[place.file];
  std::span<const std::byte> bytes = mapped(place);
  if (file.map) {
    // What is gone after this is for whoever looks at the tokens (storage/fault_guard.h).
    if (Status status = still_whole(place.file, looked); !status) return status;
    into.memory = file.map;
  } else {
    Result<Buffer> memory = read_source(place, pool);
    if (!memory) return std::move(memory).error();
    bytes = memory->bytes().first(std::size_t(place.tokens * item_));
    into.memory = *std::move(memory);
  }
  into.fields.push_back({"tokens", FieldKind::bytes, bytes, 0});
  add_document(place, into);
  return {};
}

void Windows::add_document(const Place& place, Record& into) const {
  if (!by_document()) return;
  into.fields.push_back({"length", FieldKind::integer, {}, std::int64_t(place.tokens)});
  into.fields.push_back({"document", FieldKind::integer, {}, std::int64_t(place.stretch)});
}

// Windows that lie near one another, or overlap, are one request.
class Windows::WindowFetch final : public Fetch {
 public:
  WindowFetch(const Windows& windows, std::span<const std::uint64_t> indices) : windows_(windows) {
    for (const std::uint64_t index : indices) {
      const Place place = windows.find(index);
      const std::uint64_t item = windows.item_;
      ranges_.add({windows.files_[place.file].source, {place.token * item, place.tokens * item}});
      places_.push_back(place);
    }
    ranges_.merge();
  }
  std::uint64_t bytes() const noexcept override { return ranges_.bytes(); }
  void start(BufferPool& pool, std::function<void()> done) override {
    ranges_.start(pool, std::move(done));
  }
  bool ready() const noexcept override { return ranges_.ready(); }
  Status take(std::size_t k, Record& into) const override {
    into.clear();
    Result<RangeFetch::Piece> piece = ranges_.get(k);
    if (!piece) return std::move(piece).error();
    into.memory = std::move(piece->memory);
    into.fields.push_back({"tokens", FieldKind::bytes, piece->bytes, 0});
    windows_.add_document(places_[k], into);
    return {};
  }

 private:
  const Windows& windows_;
  std::vector<Place> places_;
  RangeFetch ranges_;
};

bool Windows::from_afar() const noexcept {
  return std::none_of(files_.begin(), files_.end(),
                      [](const File& file) { return bool(file.map); });
}

bool Windows::in_memory() const noexcept {
  return std::all_of(files_.begin(), files_.end(),
                     [](const File& file) { return file.map || file.tokens == 0; });
}

std::unique_ptr<Fetch> Windows::fetch(std::span<const std::uint64_t> indices) const {
  return std::make_unique<WindowFetch>(*this, indices);
}

void Windows::tell_places(std::span<const std::uint64_t> indices, storage::ReadAhead& ahead) const {
  if (in_order_) return;
  for (const std::uint64_t index : indices) {
    if (index >= size()) continue;
    const Place place = find(index);
    if (!files_[place.file].map) continue;
    const auto file = open_.open(place.file);
    if (file) ahead.add(*file, {place.token * item_, place.tokens * item_});
  }
}

void Windows::read_many(std::span<const std::uint64_t> indices, BufferPool& pool,
                        std::span<Record> into, std::span<Status> outcomes) const {
  Looked looked;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    outcomes[i] = read(indices[i], pool, into[i], looked);
  }
  for (const Record& record : into) {
    if (!record.fields.empty()) ask_for(record.fields[0].bytes);
  }
}

std::vector<Placeable> Windows::placeable() const {
  if (from_afar()) return {};
  std::vector<Placeable> all{{kTokens, DType::int64, {std::int64_t(options_.window)}}};
  if (by_document()) {
    all.push_back({kLength, DType::int64, {}});
    all.push_back({kDocument, DType::int64, {}});
  }
  return all;
}

void Windows::read_placed(std::span<const std::uint64_t> indices,
                          std::span<const std::uint32_t> slots,
                          std::span<const Placement> placements, BufferPool& pool,
                          std::span<Record> into, std::vector<Failure>& failures) const {
  std::vector<Place> places(indices.size());
  std::vector<Status> outcomes(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (indices[k] < size()) {
      places[k] = find(indices[k]);
    } else {
      outcomes[k] = beyond(indices[k]);
    }
  }
  for (const Placement& one : placements) {
    auto* const to = reinterpret_cast<std::int64_t*>(one.to);
    if (one.field == kTokens) {
      place_tokens(places, slots, to, pool, outcomes);
      continue;
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      to[slots[k]] = std::int64_t(one.field == kLength ? places[k].tokens : places[k].stretch);
    }
  }
  Looked looked;
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (!into.empty() && outcomes[k].ok()) {
      outcomes[k] = read(indices[k], pool, into[k], looked);
      std::erase_if(into[k].fields, [&](const Field& field) {
        return std::any_of(placements.begin(), placements.end(),
                           [&](const Placement& one) { return fields_[one.field] == field.name; });
      });
    }
    if (!outcomes[k].ok()) failures.push_back({k, std::move(outcomes[k]).error()});
  }
}

// Each window goes from the file to its slot in one go. The files are looked at afterwards: then
// nothing was missing, and nothing was the zeros behind a new end.
void Windows::place_tokens(std::span<const Place> places, std::span<const std::uint32_t> slots,
                           std::int64_t* to, BufferPool& pool, std::span<Status> outcomes) const {
  const auto slot = [&](std::size_t k) { return to + slots[k] * options_.window; };
  const auto copy = [&](std::size_t k) {
    const std::byte* next = k + 1 < places.size() ? mapped(places[k + 1]).data() : nullptr;
    widen(options_.dtype, mapped(places[k]), slot(k), next);
  };
  const bool there = storage::survives([&] {
    for (std::size_t k = 0; k < places.size(); ++k) copy(k);
  });
  Looked looked;
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (!outcomes[k].ok()) continue;
    const File& file = files_[places[k].file];
    if (!file.map) {
      Result<Buffer> memory = read_source(places[k], pool);
      if (memory) {
        widen(options_.dtype, memory->bytes().first(std::size_t(places[k].tokens * item_)),
              slot(k));
      } else {
        outcomes[k] = std::move(memory).error();
      }
    } else {
      outcomes[k] = still_whole(places[k].file, looked);
      if (!there && outcomes[k].ok()) {  // was it this window?
        const bool one = storage::survives([&] { copy(k); });
        outcomes[k] = open_.still_whole(places[k].file, one);
      }
    }
    std::fill(slot(k) + places[k].tokens, slot(k) + options_.window, options_.pad);
  }
}

std::string Windows::name(std::uint64_t index) const {
  if (index >= size()) return "window " + std::to_string(index);
  const Place place = find(index);
  return files_[place.file].name + ":" + std::to_string(place.token);
}

std::uint64_t Windows::bytes(std::uint64_t index) const noexcept {
  if (index >= size()) return 0;
  const Place place = find(index);
  return files_[place.file].map ? 0 : place.tokens * item_;
}

}  // namespace penstock::formats::tokens

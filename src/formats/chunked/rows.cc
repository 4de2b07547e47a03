#include "formats/chunked/rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "formats/chunked/cache.h"
#include "formats/chunked/expected.h"
#include "formats/chunked/fetch.h"
#include "formats/digest.h"
#include "storage/read_ahead.h"

namespace penstock::formats::chunked {
namespace {

// Rows `first` to `first + count - 1`.
struct Span {
  std::uint64_t first = 0, count = 0;
};

// How a budget is shared by chunks and by rows that are expected, if it is.
struct Shares {
  std::uint64_t chunks = 0, rows = 0;
};

// Only for rows that are views of chunks, where the chunks are more than fit.
Shares shares_of(std::uint64_t budget, const std::vector<Array>& arrays, bool windowed) {
  std::uint64_t all = 0, two = 0;
  for (const Array& array : arrays) {
    if (windowed || !array.flat || array.row_bytes == 0) return {budget, 0};
    two += 2 * array.chunk_bytes;
    if (array.chunk_count > budget / array.chunk_bytes) all = budget;
  }
  const std::uint64_t chunks = std::max(two, budget / 4);
  if (all < budget || chunks > budget / 4 * 3) return {budget, 0};
  return {chunks, budget - chunks};
}

std::vector<ExpectedRows::Layout> layouts_of(const std::vector<Array>& arrays) {
  std::vector<ExpectedRows::Layout> layouts;
  for (const Array& array : arrays) {
    layouts.push_back({array.row_bytes, array.chunk.empty() ? 1 : array.chunk[0]});
  }
  return layouts;
}

// Bytes of a row that has no size of its own, where a number is needed.
constexpr std::uint64_t kVaryingGuess = 256;

// Which one of the records of a fetch.
struct OfFetch {
  const RowFetch* fetch = nullptr;
  std::size_t k = 0;
};

// The chunk of an array that was asked for last, so that neighbours need not ask again.
struct Held {
  std::uint64_t number = ~std::uint64_t(0);
  Chunk chunk;
};

class Rows final : public ArrayRecords {
 public:
  Rows(std::vector<Array> arrays, const RowOptions& options, std::string name)
      : arrays_(std::move(arrays)),
        window_(std::max<std::uint64_t>(options.window, 1)),
        stride_(options.window == 0   ? 1
                : options.stride == 0 ? window_
                                      : options.stride),
        windowed_(options.window > 0),
        name_(std::move(name)),
        shares_(shares_of(options.cache, arrays_, windowed_)),
        expected_(shares_.rows, layouts_of(arrays_)),
        cache_(options.cache, chunk_counts(arrays_),
               [this](std::size_t array, std::uint64_t chunk) { return unpack(array, chunk); }) {
    const std::uint64_t rows = arrays_[0].shape[0];
    size_ = rows < window_ ? 0 : (rows - window_) / stride_ + 1;
    Digest digest;
    digest.add("arrays");
    for (const Array& array : arrays_) {
      fields_.push_back(array.name);
      bytes_ += array.row_bytes * window_ + (array.varying == Varying::no ? 0 : kVaryingGuess);
      from_afar_ = from_afar_ || array.from_afar;
      if (!array.flat || windowed_) taken_ += array.row_bytes * window_;  // others are views
      digest.add(array.name);
      digest.add(array.element.descr);
      for (const std::uint64_t extent : array.shape) digest.add(extent);
    }
    digest.add(window_);
    digest.add(stride_);
    digest_ = digest.value();
    const auto heaviest =
        std::max_element(arrays_.begin(), arrays_.end(),
                         [](const Array& a, const Array& b) { return a.row_bytes < b.row_bytes; });
    if (!heaviest->chunk.empty()) block_ = std::max<std::uint64_t>(heaviest->chunk[0] / stride_, 1);
  }

  std::uint64_t size() const noexcept override { return size_; }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  const std::vector<Array>& arrays() const noexcept override { return arrays_; }
  std::uint64_t block() const noexcept override { return block_; }
  std::uint64_t cached_bytes() const override { return cache_.used() + expected_.used(); }
  std::uint64_t ahead() const noexcept override { return expected_.capacity(); }

  // Rows that lie in few chunks are left to the cache. From front to back it needs only a few of
  // them, and memory that is used again soon is faster.
  void expect(std::span<const std::uint64_t> indices) const override {
    if (indices.empty() || expected_.capacity() == 0) return;
    std::vector<std::uint64_t> blocks;
    for (const std::uint64_t index : indices) {
      if (index >= size_) return;
      blocks.push_back(index / block_);
    }
    std::sort(blocks.begin(), blocks.end());
    const auto count = std::uint64_t(std::unique(blocks.begin(), blocks.end()) - blocks.begin());
    std::uint64_t bytes = 0;
    for (const Array& array : arrays_) bytes += array.chunk_bytes;
    const std::uint64_t all = shares_.chunks + shares_.rows;
    if (count < all / 2 / bytes) {
      const bool forward = std::is_sorted(indices.begin(), indices.end());
      cache_.set_budget(forward ? std::min(all, (2 * count + 8) * (bytes + 1024)) : all);
      return;
    }
    cache_.set_budget(shares_.chunks);
    expected_.expect(indices);
  }
  std::uint64_t chunks_loaded() const override { return cache_.loaded(); }
  std::uint64_t bytes(std::uint64_t index) const noexcept override {
    return index < size_ ? taken_ : 0;
  }
  std::uint64_t largest() const noexcept override { return bytes_; }
  std::uint64_t mean_bytes() const noexcept override { return std::max<std::uint64_t>(bytes_, 1); }
  std::uint64_t digest() const noexcept override { return digest_; }
  Findings findings() const noexcept override { return {}; }
  std::string name(std::uint64_t index) const override {
    return name_ + ":" + std::to_string(index * stride_);
  }

  std::vector<RowField> row_fields() const override {
    std::vector<RowField> all;
    for (const Array& array : arrays_) {
      RowField field{array.name, array.element, {}};
      if (windowed_) field.shape.push_back(std::int64_t(window_));
      if (array.varying == Varying::numbers) field.shape.push_back(-1);
      field.shape.insert(field.shape.end(), array.shape.begin() + 1, array.shape.end());
      all.push_back(std::move(field));
    }
    return all;
  }

  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override {
    return read(index, pool, into, OfFetch());
  }

  bool from_afar() const noexcept override { return from_afar_; }

  std::unique_ptr<Fetch> fetch(std::span<const std::uint64_t> indices) const override {
    std::vector<std::uint64_t> wanted(indices.begin(), indices.end());
    auto fetch = std::make_unique<RowFetch>(
        arrays_, coming_,
        [this, wanted](std::size_t k, const RowFetch& own, BufferPool& pool, Record& into) {
          return read(wanted[k], pool, into, OfFetch{&own, k});
        });
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k] >= size_) return nullptr;
      for (std::size_t a = 0; a < arrays_.size(); ++a) want(*fetch, k, a, wanted[k] * stride_);
    }
    if (!fetch->plan(taken_ * wanted.size())) return nullptr;
    return fetch;
  }

  bool on_disk() const noexcept override { return !from_afar_; }
  void advise(Access access) const noexcept override { in_order_ = access == Access::sequential; }

  void tell_places(std::span<const std::uint64_t> indices,
                   storage::ReadAhead& ahead) const override {
    std::vector<std::uint64_t> chunks;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Array& array = arrays_[a];
      // What lies side by side in a file and is read in order the system reads ahead by itself.
      if (array.row_bytes == 0 || (in_order_ && !array.scattered)) continue;
      chunks.clear();
      for (const std::uint64_t index : indices) {
        if (index >= size_) continue;
        const std::uint64_t first = index * stride_;
        if (array.rows == nullptr) {
          each_missing(a, first, [&](std::uint64_t chunk) { chunks.push_back(chunk); });
        } else if (auto at = array.rows->place(first, window_, array.row_bytes)) {
          ahead.add(std::move(at->source), at->range);
        }
      }
      std::sort(chunks.begin(), chunks.end());
      chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
      for (const std::uint64_t chunk : chunks) {
        if (ahead.full()) return;
        if (auto at = array.chunks->place(chunk)) ahead.add(std::move(at->at.source), at->at.range);
      }
    }
  }

  // In the order of rows, so that each chunk is asked for once.
  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                 std::span<Status> outcomes) const override {
    std::vector<std::size_t> order(indices.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return indices[a] < indices[b]; });
    std::vector<Held> held(arrays_.size());
    std::vector<Buffer> kept(arrays_.size() * indices.size());
    expected_.take(indices, kept);
    const Status* refused = nullptr;  // by a server: not every row has to find out again
    for (const std::size_t i : order) {
      if (refused != nullptr) {
        outcomes[i] = *refused;
        continue;
      }
      const std::span<Buffer> own = std::span(kept).subspan(i * arrays_.size(), arrays_.size());
      outcomes[i] = read(indices[i], pool, into[i], held, own);
      const bool io = !outcomes[i].ok() && outcomes[i].error().code() == Code::io;
      if (io && from_afar_) refused = &outcomes[i];
    }
  }

 private:
  static std::vector<std::uint64_t> chunk_counts(const std::vector<Array>& arrays) {
    std::vector<std::uint64_t> counts;
    for (const Array& array : arrays) counts.push_back(array.chunk_count);
    return counts;
  }

  // What record k needs of array a: its rows begin at `first`.
  void want(RowFetch& fetch, std::size_t k, std::size_t a, std::uint64_t first) const {
    const Array& array = arrays_[a];
    if (array.row_bytes == 0) return;
    if (array.rows != nullptr) return fetch.want_rows(k, a, first, window_);
    each_missing(a, first, [&](std::uint64_t chunk) { fetch.want_chunk(a, chunk); });
  }

  // The chunks of array a that have to be unpacked for the rows of a record.
  template <class Each>
  void each_missing(std::size_t a, std::uint64_t first, const Each& each) const {
    if (expected_.holds(a, first)) return;
    const Array& array = arrays_[a];
    const std::uint64_t beside = array.chunk_count / std::max<std::uint64_t>(array.grid[0], 1);
    const std::uint64_t last = (first + window_ - 1) / array.chunk[0];
    for (std::uint64_t c = first / array.chunk[0] * beside; c < (last + 1) * beside; ++c) {
      if (!cache_.contains(a, c)) each(c);
    }
  }

  Status read(std::uint64_t index, BufferPool& pool, Record& into, const OfFetch& fetched) const {
    std::vector<Held> held(arrays_.size());
    std::vector<Buffer> kept(arrays_.size());
    expected_.take({&index, 1}, kept);
    return read(index, pool, into, held, kept, fetched);
  }

  // `kept`: the rows of those arrays that need no chunk any more.
  Status read(std::uint64_t index, BufferPool& pool, Record& into, std::vector<Held>& held,
              std::span<Buffer> kept, const OfFetch& fetched = {}) const {
    into.clear();
    if (index >= size_) {
      return Error(Code::out_of_range, "there is no row " + std::to_string(index) + "; there are " +
                                           std::to_string(size_));
    }
    const Span rows{index * stride_, window_};
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      Field field{fields_[a], FieldKind::bytes, {}, 0, {}};
      Status status;
      if (kept[a]) {
        field.memory = std::move(kept[a]);
        field.bytes = field.memory.bytes().first(std::size_t(arrays_[a].row_bytes));
      } else {
        status = read(a, rows, pool, field, held[a], fetched);
      }
      if (!status) {
        into.clear();
        return status;
      }
      into.fields.push_back(std::move(field));
    }
    return {};
  }

  Status read(std::size_t a, const Span& rows, BufferPool& pool, Field& field, Held& held,
              const OfFetch& fetched) const {
    const Array& array = arrays_[a];
    if (array.varying != Varying::no) return read_varying(array, rows.first, field);
    const auto size = std::size_t(array.row_bytes * rows.count);
    const std::uint64_t chunk_rows = array.rows ? 0 : array.chunk[0];
    if (array.flat && rows.first / chunk_rows == (rows.first + rows.count - 1) / chunk_rows) {
      const Status status = hold(a, rows.first / chunk_rows, held);
      if (!status) return status;
      if (held.chunk) {
        field.memory = held.chunk;
        field.bytes = held.chunk.bytes().subspan(
            std::size_t(rows.first % chunk_rows * array.row_bytes), size);
        return {};
      }
    }
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
    if (!memory) return std::move(memory).error();
    const std::span<std::byte> into = memory->bytes().first(size);
    field.memory = *std::move(memory);
    field.bytes = into;
    if (size == 0) return {};
    if (array.rows == nullptr) return gather(a, rows, into, held);
    Status status;
    const auto there = fetched.fetch == nullptr ? std::nullopt : fetched.fetch->rows(fetched.k, a);
    if (there) {
      if (!*there) return there->error();
      std::memcpy(into.data(), (*there)->data(), size);
    } else {
      status = array.rows->read(rows.first, rows.count, into);
    }
    if (status.ok()) settle(into, array.element);
    return status;
  }

  // Its memory is not the pool's: nobody knew beforehand how much it would be.
  static Status read_varying(const Array& array, std::uint64_t row, Field& field) {
    std::vector<std::byte> bytes;
    if (Status status = array.rows->read_one(row, bytes); !status) return status;
    Result<Buffer> memory = Buffer::allocate(std::max<std::size_t>(bytes.size(), 1));
    if (!memory) return std::move(memory).error();
    const std::span<std::byte> into = memory->bytes().first(bytes.size());
    std::copy(bytes.begin(), bytes.end(), into.begin());
    settle(into, array.element);
    field.kind = array.varying == Varying::text ? FieldKind::text : FieldKind::bytes;
    field.memory = *std::move(memory);
    field.bytes = into;
    return {};
  }

  // Rows that lie in several chunks, or in one that is all fill value.
  Status gather(std::size_t a, const Span& rows, std::span<std::byte> into, Held& held) const {
    const Array& array = arrays_[a];
    const std::size_t dims = array.shape.size(), item = array.element.bytes;
    Extents extents = array.shape;
    extents[0] = rows.count;
    const std::vector<std::ptrdiff_t> to_strides = dense_strides(extents, item);
    const std::vector<std::ptrdiff_t> chunk_strides = dense_strides(array.chunk, item);
    const std::vector<std::ptrdiff_t> no_strides(dims, 0);
    Extents cell(dims, 0), part(dims);  // the chunk's place in the grid; what is taken of it
    const std::uint64_t last = (rows.first + rows.count - 1) / array.chunk[0];
    for (cell[0] = rows.first / array.chunk[0]; cell[0] <= last;) {
      std::uint64_t number = 0;
      std::ptrdiff_t to = 0, from = 0;
      for (std::size_t d = 0; d < dims; ++d) {
        number = number * array.grid[d] + cell[d];
        const std::uint64_t start = cell[d] * array.chunk[d];
        const std::uint64_t low = d == 0 ? std::max(start, rows.first) : start;
        const std::uint64_t end = d == 0 ? rows.first + rows.count : array.shape[d];
        part[d] = std::min(start + array.chunk[d], end) - low;
        to += std::ptrdiff_t(low - (d == 0 ? rows.first : 0)) * to_strides[d];
        from += std::ptrdiff_t(low - start) * chunk_strides[d];
      }
      if (Status status = hold(a, number, held); !status) return status;
      if (held.chunk) {
        copy_elements(into.data() + to, to_strides, held.chunk.data() + from, chunk_strides, part,
                      item);
      } else {
        copy_elements(into.data() + to, to_strides, array.fill.data(), no_strides, part, item);
      }
      std::size_t d = dims - 1;  // the next cell, the last dimension fastest
      while (++cell[d] == array.grid[d] && d > 0) cell[d--] = 0;
    }
    return {};
  }

  Status hold(std::size_t a, std::uint64_t number, Held& held) const {
    if (held.number == number) return {};
    Result<Chunk> chunk = cache_.get(a, number);
    if (!chunk) return std::move(chunk).error();
    held = {number, *std::move(chunk)};
    return {};
  }

  Result<Chunk> unpack(std::size_t a, std::uint64_t number) const {
    const Array& array = arrays_[a];
    std::optional<Result<Packed>> fetched = coming_.find({a, number});
    Result<Packed> packed = fetched ? *std::move(fetched) : array.chunks->read(number, pool_);
    if (!packed) return std::move(packed).error();
    if (!packed->memory) return Chunk();
    Result<Buffer> chunk =
        array.chain.decode(packed->bytes, packed->skipped, array.element, array.chunk, pool_);
    if (!chunk) return std::move(chunk).error().in_file(array.chunks->name(number));
    expected_.keep(a, number, *chunk, pool_);
    return chunk;
  }

  std::vector<Array> arrays_;
  std::vector<std::string> fields_;
  std::uint64_t window_, stride_;
  bool windowed_;
  std::string name_;
  bool from_afar_ = false;
  mutable std::atomic<bool> in_order_ = false;
  std::uint64_t size_ = 0, bytes_ = 0, taken_ = 0, digest_ = 0, block_ = 0;
  Shares shares_;
  mutable BufferPool pool_;  // memory of chunks, used again
  mutable ExpectedRows expected_;
  mutable ComingChunks coming_;
  ChunkCache cache_;
};

}  // namespace

Result<std::shared_ptr<const ArrayRecords>> open_rows(std::vector<Array> arrays,
                                                      const RowOptions& options, std::string name) {
  if (arrays.empty()) {
    return Error(Code::invalid_argument, "there are no arrays with rows in it").in_file(name);
  }
  for (Array& array : arrays) {
    if (Status status = check(array); !status) return std::move(status).error();
    if (array.shape[0] == arrays[0].shape[0]) continue;
    return Error(Code::invalid_argument,
                 "'" + arrays[0].name + "' has " + std::to_string(arrays[0].shape[0]) + " rows, '" +
                     array.name + "' has " + std::to_string(array.shape[0]) +
                     "; say with fields=[...] which ones belong together")
        .in_file(name);
  }
  if (options.window > std::uint64_t(1) << 40 || options.stride > std::uint64_t(1) << 40) {
    return Error(Code::invalid_argument, "window and stride: no more than 2^40 rows");
  }
  for (const Array& array : arrays) {
    if (options.window > 0 && array.varying != Varying::no) {
      return Error(Code::invalid_argument,
                   "rows of '" + array.name +
                       "' have different lengths, which make no windows; choose others with "
                       "fields=[...]")
          .in_file(name);
    }
    if (options.window > 0 && array.row_bytes > kMostRowBytes / options.window) {
      return Error(Code::invalid_argument,
                   "a window of '" + array.name + "' would be larger than 4 GB")
          .in_file(name);
    }
  }
  return std::shared_ptr<const ArrayRecords>(
      std::make_shared<Rows>(std::move(arrays), options, std::move(name)));
}

}  // namespace penstock::formats::chunked

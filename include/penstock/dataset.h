// Dataset and Loader: which samples, in which order, what is done to them, and batches of it.
//
//   Result<Loader> loader = Dataset::open({"train-{000..146}.tar"})
//                               .shuffle(7)
//                               .decode("cls", "cls")
//                               .decode_image("jpg", {.size = {{224, 224}}, .random_crop = true})
//                               .loader({.batch = 256, .threads = 8});
//   while (true) {
//     Result<std::optional<Batch>> batch = loader->next();
//     if (!batch.ok() || !*batch) break;  // an error, or the end of the epoch
//     use((*batch)->array("jpg"), (*batch)->array("cls"));
//   }
//
// The words mean what they mean in Python, and the same plan gives the same bytes in both. What
// comes out depends on data, plan, seed, epoch and position; never on threads.
//
// Thread safety: a Dataset is an immutable value; copies share what is open. A Loader and its
// batches are for one thread at a time; arrays may outlive the loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"
#include "penstock/media.h"
#include "penstock/tensor.h"

namespace penstock {

namespace data {
struct Row;
}

struct OpenFilesOptions {
  std::vector<std::string> fields = {};  // read these only; empty: all
  bool checksums = false;  // the index holds a hash per member; every read is verified
  bool mmap = false;       // samples are views of mapped files
  std::uint64_t max_member = std::uint64_t(1) << 30;  // a larger one makes its sample an error
};

struct DecodeImageOptions {
  std::optional<std::pair<std::int64_t, std::int64_t>> size = {};  // height, width
  bool random_crop = false;  // of 8 to 100% of the area, ratio 3/4 to 4/3; needs a size
  bool centre_crop = false;  // size is cut out of the middle; else the picture is resized to it
  std::optional<std::int64_t> resize_short = {};  // the short side becomes this long first
  double flip = 0;                                // the probability of being mirrored left to right
  bool exact = false;                             // the pixels of a full decode, bit for bit
  PixelMode mode = PixelMode::rgb;
  bool operator==(const DecodeImageOptions&) const = default;
};

enum class OnError : std::uint8_t { raise, skip, replace };

struct LoaderOptions {
  std::size_t batch = 1;
  int threads = 0;                            // 0: one per core
  std::size_t memory = std::size_t(1) << 30;  // what batches under way may take
  int prefetch = 2;                           // finished batches that may wait
  std::uint64_t seed = 0;                     // of crops and flips
  OnError on_error = OnError::raise;
  bool drop_last = false;  // leave out a last round that is not full on all ranks
  // Of images that have a size.
  bool channels_first = false;
  DType dtype = DType::uint8;  // or float32, float16
  // Of floating types, in units of 0 to 1.
  std::vector<double> mean = {};
  std::vector<double> std = {};
};

// Where a loader is: what comes before it was delivered, by all ranks together.
struct Token {
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  std::uint64_t data = 0;   // digest of record counts and names
  std::uint64_t order = 0;  // digest of the plan's order
  bool operator==(const Token&) const = default;
};

// A raw field of one row: it lives as long as `memory`.
struct RawField {
  std::span<const std::byte> bytes;
  Buffer memory;

  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// One sample, as a filter sees it. Valid during the call.
class Sample {
 public:
  explicit Sample(const data::Row& row) noexcept : row_(&row) {}
  std::vector<std::string> fields() const;
  // Bytes and texts as they are. Nothing: there is no such field, or it is no such thing.
  std::optional<RawField> raw(std::string_view field) const;
  std::optional<std::int64_t> integer(std::string_view field) const;  // also of a 0-d array
  std::optional<double> number(std::string_view field) const;         // likewise; integers, too
  const Tensor* array(std::string_view field) const noexcept;

 private:
  const data::Row* row_;
};

// A sample that could not be delivered, with on_error = skip.
struct SampleError {
  std::uint64_t position = 0;
  std::string sample;
  Error error;
};

class Batch {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::vector<std::string> fields() const;
  // Rows of one shape and type, side by side. Null: there is no such field, or it is a list.
  const Tensor* array(std::string_view field) const noexcept;
  // Bytes and texts as they are. Null: there is no such field, or it is an array.
  const std::vector<RawField>* list(std::string_view field) const noexcept;
  // Samples that were skipped or replaced.
  const std::vector<SampleError>& errors() const noexcept { return errors_; }

 private:
  friend class Loader;
  struct Column {
    std::string name;
    std::optional<Tensor> array;
    std::vector<RawField> list;
  };
  std::size_t rows_ = 0;
  std::uint64_t epoch_ = 0;
  std::vector<Column> columns_;
  std::vector<SampleError> errors_;
};

class Loader {
 public:
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  // The next batch. Nothing: the epoch is over; the next call begins the one after it. An Error
  // ends the epoch where it is; the next call begins it again.
  Result<std::optional<Batch>> next();

  std::uint64_t epoch() const noexcept;
  std::optional<std::uint64_t> batches() const;  // of a whole epoch; nothing: endless

  // What next() has given, not what is under way. Loads into a loader with another batch size,
  // other threads and another number of ranks; refused if it is of other data or another order.
  Token token() const;
  Status resume(const Token& token);

 private:
  friend class Dataset;
  struct Run;
  explicit Loader(std::unique_ptr<Run> run);
  std::unique_ptr<Run> run_;
};

// Steps that cannot work are remembered: size(), status() and loader() answer with the first Error.
class Dataset {
 public:
  // Names may hold patterns: "train-*.tar", "train-{000..146}.tar". A folder of images, tar shards
  // or TFRecord files. Tars are indexed once.
  static Dataset open(const std::vector<std::string>& names, const OpenFilesOptions& options = {});
  // Row i of each array is sample i.
  static Dataset of_arrays(std::vector<std::pair<std::string, Tensor>> arrays);

  // Order.
  Dataset shuffle(std::uint64_t seed) const;
  Dataset shuffle(std::uint64_t seed, std::uint64_t window) const;  // keeps reads local
  Dataset take(std::uint64_t n) const;
  Dataset skip(std::uint64_t n) const;
  Dataset repeat(std::optional<std::uint64_t> n = std::nullopt) const;
  Dataset shard(std::uint64_t rank, std::uint64_t world) const;  // applies last
  // n draws with replacement, in proportion to the weights: one for each sample. Without n: as many
  // as there are samples.
  Dataset sample(std::vector<double> weights, std::optional<std::uint64_t> n = std::nullopt,
                 std::uint64_t seed = 0) const;
  // Parts by fraction, and the rest. Samples are shuffled first, unless there is no seed.
  std::vector<Dataset> split(const std::vector<double>& fractions,
                             std::optional<std::uint64_t> seed = 0) const;

  // Several as one. Work that all parts have alike is done after it, other work in each part.
  Dataset concat(const Dataset& other) const;
  Dataset zip(const Dataset& other) const;  // sample i has the fields of both samples i
  // By weight, until the first part runs out, or without end: then parts begin again.
  static Dataset mix(const std::vector<Dataset>& parts, std::vector<double> weights = {},
                     std::uint64_t seed = 0, bool endless = false);

  // Work on samples, on the loader's threads.
  Dataset select(std::vector<std::string> fields) const;
  Dataset rename(std::string field, std::string name) const;
  Dataset decode(std::string field, const std::string& kind) const;  // "cls", "txt", "npy"
  Dataset decode_image(std::string field, DecodeImageOptions options = {}) const;
  // Samples for which `keep` is true; it is called by several threads. Before any decode it is
  // early: it sees raw fields, is called once per record, now, and what is left is the dataset.
  // After that it is late: it leaves holes in batches, and there is no size() any more. A record
  // that cannot be read stays: the loader decides what becomes of it.
  Dataset filter(std::function<bool(const Sample&)> keep) const;
  // Keeps samples in memory as they are here, up to so many bytes; what does not fit is read again.
  // Datasets and loaders made of this one share it. Random work comes after it.
  Dataset cache(std::uint64_t memory = ~std::uint64_t{0} >> 1) const;

  Status status() const;
  Result<std::optional<std::uint64_t>> size() const;  // nothing: endless
  Result<std::vector<std::string>> fields() const;    // of the records, before any work

  Result<Loader> loader(LoaderOptions options = {}) const;

 private:
  struct Plan;
  explicit Dataset(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  template <class Change>
  Dataset with(Change change) const;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace penstock

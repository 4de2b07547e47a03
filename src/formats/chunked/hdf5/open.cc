#include "formats/chunked/hdf5/open.h"

#include <algorithm>
#include <optional>

#include "formats/chunked/hdf5/chunk_index.h"
#include "formats/chunked/hdf5/module.h"
#include "formats/chunked/hdf5/stored_values.h"
#include "formats/chunked/hdf5/varying_rows.h"
#include "storage/blocks.h"
#include "storage/file.h"

namespace penstock::formats::hdf5 {
namespace {

using FilePtr = std::shared_ptr<const File>;
using SourcePtr = std::shared_ptr<const storage::Source>;

class Chunks final : public chunked::ChunkBytes {
 public:
  Chunks(SourcePtr source, std::vector<ChunkPlace> places)
      : source_(std::move(source)), places_(std::move(places)) {}

  Result<chunked::Packed> read(std::uint64_t chunk, BufferPool& pool) const override {
    const ChunkPlace* found = find(chunk);
    if (found == nullptr) return chunked::Packed();
    const auto size = std::size_t(found->size);
    Result<Buffer> memory = pool.allocate(std::max<std::size_t>(size, 1));
    if (!memory) return Error(memory.error()).in_file(source_->name());
    Status status = source_->read(found->offset, memory->bytes().first(size));
    if (!status) return std::move(status).error();
    const std::span<const std::byte> bytes = memory->bytes().first(size);
    return chunked::Packed{*std::move(memory), bytes, found->skipped};
  }
  std::string name(std::uint64_t) const override { return source_->name(); }
  std::optional<chunked::ChunkAt> place(std::uint64_t chunk) const override {
    const ChunkPlace* found = find(chunk);
    if (found == nullptr) return std::nullopt;
    return chunked::ChunkAt{{source_, {found->offset, found->size}}, found->skipped};
  }

 private:
  const ChunkPlace* find(std::uint64_t chunk) const {
    const auto found = std::lower_bound(
        places_.begin(), places_.end(), chunk,
        [](const ChunkPlace& place, std::uint64_t number) { return place.number < number; });
    return found == places_.end() || found->number != chunk ? nullptr : &*found;
  }

  SourcePtr source_;
  std::vector<ChunkPlace> places_;  // sorted
};

class ByLibrary final : public chunked::RowReader {
 public:
  ByLibrary(FilePtr file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status read(std::uint64_t first, std::uint64_t count, std::span<std::byte> into) const override {
    return file_->read_rows(path_, first, count, into);
  }

 private:
  FilePtr file_;
  std::string path_;
};

// The codec of a filter; null: it is not unpacked here.
chunked::CodecPtr codec_of(const Filter& filter) {
  switch (filter.id) {
    case 1:
      return chunked::deflate_codec(chunked::Deflate::zlib);
    case 2:
      return chunked::shuffle_codec(filter.values.empty() ? 1 : filter.values[0]);
    case 3:
      return chunked::fletcher32_codec();
    case 32000:
      return chunked::lzf_codec();
    case 32001:
      return chunked::blosc_codec();
    case 32004:
      return chunked::hdf5_lz4_codec();
    case 32015:
      return chunked::zstd_codec();
    default:
      return nullptr;
  }
}

// A file as libhdf5 has it, and as we read it.
struct Opened {
  FilePtr file;
  SourcePtr source;
  SourcePtr metadata;  // the same bytes, for many small reads

  bool remote() const noexcept { return metadata != source; }
};

std::string words_of(const Filter& filter) {
  const std::string name = filter.name.empty() ? "" : " (" + filter.name + ")";
  return "its filter " + std::to_string(filter.id) + name;
}

// 'a', 'b'
std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all;
}

// What libhdf5 has to read, `why` saying so, needs filters that libhdf5 has.
Status check_filters(const Dataset& dataset, const std::string& path, const std::string& why) {
  if (dataset.layout != Dataset::Layout::chunked) return {};  // nothing is filtered
  for (const Filter& filter : dataset.filters) {
    if (filter.available) continue;
    const bool known = codec_of(filter) != nullptr;
    return Error(
        Code::unsupported,
        "dataset '" + path + "': " + words_of(filter) +
            (known ? " is not unpacked by this libhdf5, which has to read it because " + why
                   : " is unpacked neither here nor by this libhdf5") +
            ": name a folder with its plugin in HDF5_PLUGIN_PATH, or leave it out with "
            "fields=[...] of the others");
  }
  return {};
}

// Gives the reason why libhdf5 has to read it; empty: it has not.
Result<std::string> set_chunks(const Dataset& dataset, const Opened& opened,
                               chunked::Array& array) {
  for (const Filter& filter : dataset.filters) {
    chunked::CodecPtr codec = codec_of(filter);
    if (codec == nullptr) return words_of(filter) + " is not unpacked here";
    array.chain.codecs.push_back(std::move(codec));
  }
  if (dataset.header == Dataset::kNowhere) {
    return std::string("addresses or lengths in the file are not 8 bytes wide");
  }
  auto places = read_chunk_index(
      *opened.metadata, {dataset.header, dataset.base, dataset.shape, dataset.most, dataset.chunk});
  if (!places) return std::move(places).error();
  if (!*places) return std::string("its index of chunks is of a kind that is not known here");
  array.chunks = std::make_shared<Chunks>(opened.source, **std::move(places));
  return std::string();
}

Error not_read(const std::string& path, const std::string& why) {
  return Error(Code::unsupported, "dataset '" + path + "': " + why);
}

// The element and the shape, as far as they are known.
Status set_element(const Dataset& dataset, const std::string& path, chunked::Array& array) {
  array.shape = dataset.shape;
  array.chunk = dataset.chunk;
  if (!dataset.shape.empty()) {
    array.shape.insert(array.shape.end(), dataset.inner.begin(), dataset.inner.end());
  }
  if (!dataset.unreadable.empty()) {
    if (dataset.shape.empty()) return {};
    return not_read(path, dataset.unreadable);
  }
  array.element.descr = dataset.descr;
  array.element.bytes = dataset.element_bytes;
  if (dataset.text || dataset.list) {
    array.varying = dataset.text ? chunked::Varying::text : chunked::Varying::numbers;
  }
  if (dataset.descr[0] != '{' && !dataset.text) {
    Result<chunked::Element> element = chunked::element_of(dataset.descr);
    if (!element) return std::move(element).error();
    array.element = *std::move(element);
  }
  array.element.texts = dataset.texts;
  if (array.varying != chunked::Varying::no && dataset.shape.size() > 1) {
    return not_read(path, std::string(dataset.text ? "text" : "lists") +
                              " of variable length in more than one dimension cannot be read; "
                              "leave it out with fields=[...] of the others");
  }
  return {};
}

// Where the elements are, each of array.element.bytes, if we read them. Gives the reason why
// libhdf5 has to; empty: it has not.
Result<std::string> set_elements(const Dataset& dataset, const Opened& opened,
                                 chunked::Array& array) {
  if (!dataset.only_hdf5.empty()) return dataset.only_hdf5;
  if (dataset.layout == Dataset::Layout::chunked) {
    array.chunk = dataset.chunk;
    array.chunk.insert(array.chunk.end(), dataset.inner.begin(), dataset.inner.end());
    return set_chunks(dataset, opened, array);
  }
  if (dataset.layout != Dataset::Layout::contiguous) return std::string("of how it is laid out");
  if (dataset.offset == Dataset::kNowhere) return std::string("nothing was written to it");
  array.rows = chunked::plain_rows(opened.source, dataset.offset);
  return std::string();
}

Status check_end(const Dataset& dataset, const storage::Source& source,
                 const chunked::Array& array) {
  const std::uint64_t left = source.size() - std::min(source.size(), dataset.offset);
  if (array.row_bytes == 0 || array.shape[0] <= left / array.row_bytes) return {};
  return Error(Code::corrupt,
               "dataset '" + array.name + "' lies outside the HDF5 file; was it cut off?");
}

// Rows of varying length: their references are an array like others.
Status set_varying(const Dataset& dataset, const Opened& opened, chunked::Array& array) {
  chunked::Array references = array;
  references.varying = chunked::Varying::no;
  references.element = *chunked::element_of("|V" + std::to_string(kReferenceBytes));
  references.fill = dataset.fill;
  references.fill.resize(kReferenceBytes);
  const bool written = dataset.layout != Dataset::Layout::contiguous ||
                       dataset.offset != Dataset::kNowhere || !dataset.only_hdf5.empty();
  if (written) {
    const Result<std::string> why = set_elements(dataset, opened, references);
    if (!why) return why.error();
    if (!why->empty()) {
      return not_read(array.name, "text and lists of variable length are not read if " + *why +
                                      "; leave it out with fields=[...] of the others");
    }
    if (Status status = check(references); !status) return status;
    if (references.rows != nullptr) {
      if (Status status = check_end(dataset, *opened.source, references); !status) return status;
    }
  }
  auto rows = varying_rows(std::move(references), {opened.source, dataset.base, dataset.text,
                                                   dataset.text ? 1 : dataset.element_bytes});
  if (!rows) return std::move(rows).error();
  array.rows = *std::move(rows);
  array.chunk.clear();
  array.fill.assign(array.element.bytes, std::byte(0));
  return check(array);
}

// Fills in the array as far as it goes.
Status make_array(const Opened& opened, const std::string& path, chunked::Array& array) {
  const SourcePtr& source = opened.source;
  array.name = path;
  array.place = source->name();
  array.from_afar = opened.remote();
  Result<Dataset> dataset = opened.file->describe(path, StoredValues(opened.metadata));
  if (!dataset) return std::move(dataset).error();
  if (Status status = set_element(*dataset, path, array); !status) return status;
  array.chunk.clear();
  if (dataset->shape.empty()) return {};  // a single value: who wants it is told so later
  if (dataset->elsewhere && opened.remote()) {
    return Error(Code::unsupported, "dataset '" + path +
                                        "' is in other files, which are not looked for on a web "
                                        "server: name others with fields=[...]");
  }
  if (array.varying != chunked::Varying::no) return set_varying(*dataset, opened, array);
  array.fill = dataset->fill;
  array.fill.resize(array.element.bytes);
  chunked::settle(array.fill, array.element);
  Result<std::string> why = set_elements(*dataset, opened, array);
  if (!why) return std::move(why).error();
  if (!why->empty()) {
    if (Status status = check_filters(*dataset, path, *why); !status) return status;
    array.chunk.clear();
    array.chain.codecs.clear();
    array.rows = std::make_shared<ByLibrary>(opened.file, path);
    array.note = "read by libhdf5, one thread at a time, because " + *why;
  }
  if (Status status = check(array); !status) return status;
  return why->empty() && array.rows != nullptr ? check_end(*dataset, *source, array) : Status();
}

Result<Opened> open_file(const std::string& name) {
  Opened opened;
  Result<SourcePtr> source = storage::open_source(name);
  if (!source) return std::move(source).error();
  opened.source = *std::move(source);
  opened.metadata = storage::is_url(name) ? storage::in_blocks(opened.source) : opened.source;
  const Result<OpenFile*> open = load_module();
  if (!open) return Error(open.error()).in_file(name);
  Result<FilePtr> file = (*open)(name, opened.remote() ? opened.metadata : nullptr);
  if (!file) return std::move(file).error().in_file(name);
  opened.file = *std::move(file);
  return opened;
}

}  // namespace

Result<std::vector<chunked::Array>> open_arrays(const std::string& name,
                                                const std::vector<std::string>& fields) {
  const auto opened = open_file(name);
  if (!opened) return opened.error();
  const Result<std::vector<std::string>> all = opened->file->datasets();
  if (!all) return Error(all.error()).in_file(name);
  std::vector<chunked::Array> arrays;
  std::vector<std::string> unreadable;
  std::optional<Error> failure;  // of the first of them
  for (const std::string& path : fields.empty() ? *all : fields) {
    if (std::find(all->begin(), all->end(), path) == all->end() && !opened->file->has(path)) {
      std::string there;
      for (const std::string& one : *all) there += (there.empty() ? "" : ", ") + one;
      return Error(Code::no_field, "there is no dataset '" + path + "'; there are: " + there)
          .in_file(name);
    }
    chunked::Array array;
    if (Status status = make_array(*opened, path, array); !status) {
      if (!fields.empty() || status.error().code() == Code::io) {
        return std::move(status).error().in_file(name);
      }
      if (!failure) failure = std::move(status).error();
      unreadable.push_back(path);
      continue;
    }
    if (array.shape.empty() && fields.empty()) continue;
    arrays.push_back(std::move(array));
  }
  if (!failure) return arrays;
  std::vector<std::string> readable;
  for (const chunked::Array& array : arrays) readable.push_back(array.name);
  unreadable.erase(unreadable.begin());
  if (!unreadable.empty()) failure->add_words("; nor can be read: " + listed(unreadable));
  if (!readable.empty()) {
    failure->add_words("; what can be read: fields=[" + listed(readable) + "]");
  }
  return std::move(*failure).in_file(name);
}

Result<std::vector<Listed>> list_arrays(const std::string& name) {
  const auto opened = open_file(name);
  if (!opened) return opened.error();
  const Result<std::vector<std::string>> paths = opened->file->datasets();
  if (!paths) return Error(paths.error()).in_file(name);
  std::vector<Listed> all;
  for (const std::string& path : *paths) {
    Listed& one = all.emplace_back();
    if (Status status = make_array(*opened, path, one.array); !status) {
      if (status.error().code() == Code::io) return std::move(status).error().in_file(name);
      one.unreadable = status.error().message();
    }
  }
  return all;
}

Result<std::string> attributes(const std::string& name, const std::string& path) {
  const auto opened = open_file(name);
  if (!opened) return opened.error();
  Result<std::string> found = opened->file->attributes(path, StoredValues(opened->metadata));
  if (!found) return std::move(found).error().in_file(name);
  return found;
}

}  // namespace penstock::formats::hdf5

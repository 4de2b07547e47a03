#include "formats/chunked/zarr/metadata.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "formats/chunked/zarr/json.h"
#include "formats/chunked/zarr/types.h"

namespace penstock::formats::zarr {
namespace {

using chunked::Chain;
using chunked::CodecPtr;
using chunked::Extents;

constexpr std::uint64_t kMostInShard = std::uint64_t(1) << 32;  // chunks

Error unknown_codec(const std::string& name) {
  return Error(Code::unsupported,
               "the Zarr codec '" + name +
                   "' is not read here; gzip, zlib, zstd, lz4, blosc, shuffle, crc32c, fletcher32, "
                   "transpose and sharding are. Write the array anew with one of them");
}

// Codecs from bytes to bytes, by the names of both versions. `item`: bytes of an element.
Result<CodecPtr> byte_codec(std::string name, const Json& options, std::size_t item) {
  constexpr std::string_view kNumcodecs = "numcodecs.";
  if (name.starts_with(kNumcodecs)) name.erase(0, kNumcodecs.size());
  if (name == "gzip") return chunked::deflate_codec(chunked::Deflate::gzip);
  if (name == "zlib") return chunked::deflate_codec(chunked::Deflate::zlib);
  if (name == "zstd") return chunked::zstd_codec();
  if (name == "lz4") return chunked::lz4_codec();
  if (name == "blosc") return chunked::blosc_codec();
  if (name == "crc32c") return chunked::crc32c_codec();
  if (name == "fletcher32") return chunked::fletcher32_codec();
  if (name != "shuffle") return unknown_codec(name);
  const Json* given = member(options, "elementsize");
  if (given != nullptr && given->is_number_unsigned()) item = given->get<std::size_t>();
  if (item == 0 || item > chunked::kMostElementBytes) return bad_metadata("its shuffle is wrong");
  return chunked::shuffle_codec(item);
}

// Is this an order of the dimensions? Then it is put behind those that came before.
bool add_order(const std::optional<Extents>& order, std::size_t dims, Chain& chain) {
  if (!order || order->size() != dims) return false;
  Extents sorted = *order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < dims; ++i) {
    if (sorted[i] != i) return false;
  }
  std::vector<std::size_t> before = chain.order;
  if (before.empty()) {
    before.resize(dims);
    std::iota(before.begin(), before.end(), std::size_t(0));
  }
  chain.order.resize(dims);
  for (std::size_t i = 0; i < dims; ++i) chain.order[i] = before[std::size_t((*order)[i])];
  return true;
}

// What is not said is little-endian, or of single bytes.
Result<bool> is_big_endian(const Json& options) {
  const std::string order = text_member(options, "endian");
  if (order != "big" && order != "little" && !order.empty()) {
    return bad_metadata("its byte order is wrong");
  }
  return order == "big";
}

// What stands between the numbers of a chunk in its name; `usual` if that is not said.
Result<char> separator_in(const Json& json, const char* name, char usual) {
  const std::string text = text_member(json, name);
  if (text.empty()) return usual;
  if (text != "." && text != "/") return bad_metadata("the separator of its chunks is wrong");
  return text[0];
}

Status read_codecs(const Json* codecs, Metadata& into, bool inside, bool& big_endian,
                   std::size_t item);

// Parts of a shard have codecs of their own; those of the index are fixed.
Status read_sharding(const Json& options, Metadata& into, bool& big_endian, std::size_t item) {
  const std::optional<Extents> part = numbers(member(options, "chunk_shape"));
  Sharding sharding;
  sharding.shard = into.array.chunk;
  std::uint64_t count = 1;
  if (!part || part->size() != sharding.shard.size()) return bad_metadata("its sharding is wrong");
  for (std::size_t d = 0; d < part->size(); ++d) {
    if ((*part)[d] == 0 || sharding.shard[d] % (*part)[d] != 0) {
      return bad_metadata("its shards are not a whole number of chunks");
    }
    if (__builtin_mul_overflow(count, sharding.shard[d] / (*part)[d], &count) ||
        count > kMostInShard) {
      return bad_metadata("its shards have more chunks than there can be");
    }
  }
  into.array.chunk = *part;
  sharding.index_first = text_member(options, "index_location") == "start";
  const Json* index = member(options, "index_codecs");
  if (index == nullptr || !index->is_array()) return bad_metadata("its shards have no index");
  for (const Json& codec : *index) {
    const std::string name = name_in(codec);
    if (name == "bytes" && !sharding.checked) {
      const Result<bool> big = is_big_endian(configuration(codec));
      if (!big) return big.error();
      sharding.big_endian = *big;
    } else if (name == "crc32c" && !sharding.checked) {
      sharding.checked = true;
    } else {
      return unknown_codec(name + " (of a shard's index)");
    }
  }
  into.sharding = sharding;
  return read_codecs(member(options, "codecs"), into, true, big_endian, item);
}

// `inside` a shard. `item` is 0 as long as the element is not known: it depends on the byte order.
Status read_codecs(const Json* codecs, Metadata& into, bool inside, bool& big_endian,
                   std::size_t item) {
  if (codecs == nullptr || !codecs->is_array()) return bad_metadata("it has no codecs");
  const std::size_t dims = into.array.shape.size();
  bool in_bytes = false;  // has the array become bytes?
  for (const Json& codec : *codecs) {
    const std::string name = name_in(codec);
    const Json& options = configuration(codec);
    if (name == "transpose" && !in_bytes) {
      if (!add_order(numbers(member(options, "order")), dims, into.array.chain)) {
        return bad_metadata("its transpose is wrong");
      }
    } else if (name == "bytes" && !in_bytes) {
      const Result<bool> big = is_big_endian(options);
      if (!big) return big.error();
      big_endian = *big;
      in_bytes = true;
    } else if (name == "sharding_indexed" && !in_bytes) {
      if (inside || !into.array.chain.order.empty() || codecs->size() > 1) {
        return Error(Code::unsupported,
                     inside
                         ? "shards inside of shards are not read here; write the array anew with "
                           "one level of them"
                         : "codecs beside those of its shards are not read here; write the array "
                           "anew with all codecs inside of the shards");
      }
      return read_sharding(options, into, big_endian, item);
    } else if (in_bytes) {
      Result<CodecPtr> made = byte_codec(name, options, item);
      if (!made) return std::move(made).error();
      into.array.chain.codecs.push_back(*std::move(made));
    } else {
      return unknown_codec(name);
    }
  }
  return in_bytes ? Status() : bad_metadata("its codecs do not make bytes");
}

// What is not known may change what the chunks mean, unless it says that it does not.
Status check_extensions(const Json& json) {
  constexpr std::array<std::string_view, 11> kKnown = {
      "zarr_format",        "node_type",  "shape",  "data_type",  "chunk_grid",
      "chunk_key_encoding", "fill_value", "codecs", "attributes", "storage_transformers",
      "dimension_names"};
  const auto refuse = [](const std::string& name) {
    return Error(Code::unsupported, "the Zarr array has '" + name + "', which is not read here");
  };
  for (const auto& [name, value] : json.items()) {
    if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) continue;
    const Json* must = member(value, "must_understand");
    if (must == nullptr || !must->is_boolean() || must->get<bool>()) return refuse(name);
  }
  const Json* transformers = member(json, "storage_transformers");
  if (transformers != nullptr && !transformers->empty()) return refuse("storage_transformers");
  return {};
}

Status read_v3(const Json& json, Metadata& into) {
  if (text_member(json, "node_type") != "array") return bad_metadata("this is not an array");
  const Json* grid = member(json, "chunk_grid");
  if (grid == nullptr || name_in(*grid) != "regular") {
    return Error(Code::unsupported, "only regular chunk grids of Zarr are read");
  }
  const std::optional<Extents> chunk = numbers(member(configuration(*grid), "chunk_shape"));
  if (!chunk) return bad_metadata("its chunk shape is wrong");
  into.array.chunk = *chunk;
  // Read wrongly, all chunks would seem to be missing, which is no error.
  const Json* keys = member(json, "chunk_key_encoding");
  const std::string encoding = keys == nullptr ? "" : name_in(*keys);
  const bool plain = encoding == "v2";
  if (!plain && encoding != "default") return bad_metadata("the names of its chunks are unknown");
  const Result<char> separator = separator_in(configuration(*keys), "separator", plain ? '.' : '/');
  if (!separator) return separator.error();
  into.prefix.assign(plain ? 0 : 1, 'c');
  into.separator = *separator;
  if (member(json, "fill_value") == nullptr) return bad_metadata("it has no fill value");
  const Json* type = member(json, "data_type");
  if (type == nullptr) return bad_metadata("it has no data type");
  const Result<chunked::Element> known = element_v3(*type, false);
  if (!known) return known.error();
  bool big_endian = false;
  Status status = read_codecs(member(json, "codecs"), into, false, big_endian, known->bytes);
  if (!status) return status;
  Result<chunked::Element> element = element_v3(*type, big_endian);
  if (!element) return std::move(element).error();
  into.array.element = *std::move(element);
  const Json* value = member(json, "fill_value");
  Result<std::vector<std::byte>> fill = value != nullptr && value->is_object()
                                            ? struct_fill_value(*value, *type, big_endian)
                                            : fill_value(value, into.array.element, 3);
  if (!fill) return std::move(fill).error();
  if (fill->size() != into.array.element.bytes) return bad_metadata("its fill value is wrong");
  into.array.fill = *std::move(fill);
  return check_extensions(json);
}

Status read_v2(const Json& json, Metadata& into) {
  const std::optional<Extents> chunk = numbers(member(json, "chunks"));
  if (!chunk) return bad_metadata("its chunk shape is wrong");
  into.array.chunk = *chunk;
  into.prefix.clear();
  const Result<char> separator = separator_in(json, "dimension_separator", '.');
  if (!separator) return separator.error();
  into.separator = *separator;
  const Json* dtype = member(json, "dtype");
  if (dtype == nullptr) return bad_metadata("it has no dtype");
  Result<chunked::Element> element = element_v2(*dtype);
  if (!element) return std::move(element).error();
  into.array.element = *std::move(element);
  const std::size_t dims = into.array.shape.size();
  const std::string stored = text_member(json, "order");
  if (stored != "C" && stored != "F") return bad_metadata("the order of its elements is wrong");
  if (stored == "F" && dims > 1) {
    Extents order(dims);
    for (std::size_t i = 0; i < dims; ++i) order[i] = dims - 1 - i;
    add_order(order, dims, into.array.chain);
  }
  std::vector<const Json*> codecs;
  const Json* filters = member(json, "filters");
  if (filters != nullptr && filters->is_array()) {
    for (const Json& filter : *filters) codecs.push_back(&filter);
  }
  const Json* compressor = member(json, "compressor");
  if (compressor != nullptr && !compressor->is_null()) codecs.push_back(compressor);
  for (const Json* codec : codecs) {
    Result<CodecPtr> made = byte_codec(text_member(*codec, "id"), *codec, into.array.element.bytes);
    if (!made) return std::move(made).error();
    into.array.chain.codecs.push_back(*std::move(made));
  }
  Result<std::vector<std::byte>> fill =
      fill_value(member(json, "fill_value"), into.array.element, 2);
  if (!fill) return std::move(fill).error();
  into.array.fill = *std::move(fill);
  return {};
}

}  // namespace

Result<Metadata> parse_array(std::string_view text, int version) {
  const Result<Json> json = parse_json(text);
  if (!json) return json.error();
  Metadata into;
  const std::optional<Extents> shape = numbers(member(*json, "shape"));
  if (!shape) return bad_metadata("its shape is wrong");
  into.array.shape = *shape;
  Status status = version == 3 ? read_v3(*json, into) : read_v2(*json, into);
  if (!status) return std::move(status).error();
  if (into.array.chunk.size() != shape->size()) {
    return bad_metadata("its chunks have another number of dimensions than it has");
  }
  return into;
}

Result<bool> is_array(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json) return json.error();
  const std::string type = text_member(*json, "node_type");
  if (type != "array" && type != "group") return bad_metadata("it is no array and no group");
  return type == "array";
}

Result<std::optional<std::vector<Node>>> consolidated(std::string_view text, int version) {
  const Result<Json> json = parse_json(text);
  if (!json) return json.error();
  const Json* all = version == 3 ? member(*json, "consolidated_metadata") : &*json;
  if (all == nullptr || all->is_null()) return std::optional<std::vector<Node>>();
  const Json* nodes = member(*all, "metadata");
  if (nodes == nullptr || !nodes->is_object()) {
    return bad_metadata("what was consolidated is not there");
  }
  constexpr std::string_view kArray = "/.zarray", kGroup = "/.zgroup";
  std::vector<Node> found;
  for (const auto& [path, node] : nodes->items()) {
    const auto dump = [&one = node] {
      return one.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    if (version == 3) {
      found.push_back({path, text_member(node, "node_type") == "array" ? dump() : ""});
    } else if (path.ends_with(kArray)) {
      found.push_back({path.substr(0, path.size() - kArray.size()), dump()});
    } else if (path.ends_with(kGroup)) {
      found.push_back({path.substr(0, path.size() - kGroup.size()), ""});
    }
  }
  return std::optional(std::move(found));
}

std::string chunk_key(const Metadata& metadata, const Extents& cell) {
  std::string key = metadata.prefix;
  for (const std::uint64_t place : cell) {
    if (!key.empty()) key += metadata.separator;
    key += std::to_string(place);
  }
  return key;
}

}  // namespace penstock::formats::zarr

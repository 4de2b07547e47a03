#include "formats/chunked/zarr/open.h"

#include <sys/stat.h>

#include <algorithm>

#include "formats/chunked/zarr/json.h"
#include "formats/chunked/zarr/metadata.h"
#include "formats/chunked/zarr/shards.h"
#include "formats/chunked/zarr/store.h"

namespace penstock::formats::zarr {
namespace {

constexpr std::size_t kMostArrays = 10'000, kDeepest = 32;

using StorePtr = std::shared_ptr<const Store>;
using Text = std::optional<std::string>;

Result<Text> text_of(const Store& store, const std::string& key) {
  const Result<std::shared_ptr<const storage::Source>> source = store.open_checked(key);
  if (!source) return source.error();
  if (*source == nullptr) return Text();
  if ((*source)->size() > kMostMetadataBytes) {
    return bad_metadata("it is too long").in_file(store.name(key));
  }
  std::string text(std::size_t((*source)->size()), '\0');
  Status status = (*source)->read(0, std::as_writable_bytes(std::span(text)));
  if (!status) return std::move(status).error();
  return Text(std::move(text));
}

std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "/" + std::string(key);
}

// What is at a path: an array's metadata, or a group.
struct Found {
  int version = 0;     // 0: nothing is there
  bool array = false;  // else it is a group
  std::string json;    // of an array
  std::string key;     // of the metadata
};

Result<Found> look(const Store& store, const std::string& path) {
  Found found{3, false, "", below(path, "zarr.json")};
  Result<Text> text = text_of(store, found.key);
  if (!text) return std::move(text).error();
  if (*text) {
    const Result<bool> array = is_array(**text);
    if (!array) return Error(array.error()).in_file(store.name(found.key));
    found.array = *array;
    found.json = **std::move(text);
    return found;
  }
  found = {2, true, "", below(path, ".zarray")};
  text = text_of(store, found.key);
  if (!text) return std::move(text).error();
  if (*text) {
    found.json = **std::move(text);
    return found;
  }
  for (const char* key : {".zgroup", ".zmetadata"}) {
    text = text_of(store, below(path, key));
    if (!text) return std::move(text).error();
    if (*text) return Found{2, false, "", below(path, key)};
  }
  return Found{};
}

// Paths of all arrays below a group, by looking or from consolidated metadata.
Status list(const Store& store, const std::string& path, std::size_t depth,
            std::vector<std::string>& into) {
  const Result<std::vector<std::string>> names = store.folders(path.empty() ? "" : path + "/");
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const std::string child = below(path, name);
    const Result<Found> found = look(store, child);
    if (!found) return found.error();
    if (found->version == 0) continue;
    if (found->array) into.push_back(child);
    if (into.size() > kMostArrays || depth > kDeepest) {
      return Error(Code::unsupported, "there are too many arrays: name some with fields=[...]")
          .in_file(store.name());
    }
    if (found->array) continue;
    if (Status status = list(store, child, depth + 1, into); !status) return status;
  }
  return {};
}

Result<std::vector<std::string>> list_all(const Store& store, const Found& root) {
  const std::string key = root.version == 3 ? "zarr.json" : ".zmetadata";
  Result<Text> text = text_of(store, key);
  if (!text) return std::move(text).error();
  if (*text) {
    Result<std::optional<std::vector<Node>>> nodes = consolidated(**text, root.version);
    if (!nodes) return Error(nodes.error()).in_file(store.name(key));
    if (*nodes) {
      std::vector<std::string> paths;
      for (const Node& node : **nodes) {
        if (!node.json.empty()) paths.push_back(node.path);
      }
      std::sort(paths.begin(), paths.end());
      return paths;
    }
  }
  std::vector<std::string> paths;
  if (Status status = list(store, "", 0, paths); !status) return std::move(status).error();
  return paths;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all.empty() ? "none" : all;
}

Result<chunked::Array> make_array(const StorePtr& store, const std::string& path,
                                  const std::string& field, const Found& found) {
  Result<Metadata> metadata = parse_array(found.json, found.version);
  if (!metadata) return std::move(metadata).error().in_file(store->name(found.key));
  chunked::Array& array = metadata->array;
  array.name = field;
  array.place = store->name(found.key);
  array.from_afar = storage::is_url(store->name());
  array.scattered = !metadata->sharding;
  if (array.shape.empty()) return array;  // a single value: who wants it is told so later
  if (Status status = check(array); !status) return std::move(status).error();
  const std::string prefix = path.empty() ? "" : path + "/";
  array.chunks = metadata->sharding ? shard_files(store, prefix, *metadata)
                                    : chunk_files(store, prefix, *metadata);
  return std::move(array);
}

Error not_zarr(const std::string& name) {
  return Error(Code::not_found,
               "there is no Zarr array or group here (zarr.json, .zarray or .zgroup)")
      .in_file(name);
}

}  // namespace

Result<std::vector<chunked::Array>> open_arrays(const std::string& name,
                                                const std::vector<std::string>& fields) {
  const Result<StorePtr> store = open_store(name);
  if (!store) return store.error();
  const Result<Found> root = look(**store, "");
  if (!root) return root.error();
  if (root->version == 0 && fields.empty()) return not_zarr(name);
  std::vector<chunked::Array> arrays;
  if (root->array) {
    for (const std::string& field : fields) {
      if (field == "data") continue;
      return Error(Code::no_field, "there is no field '" + field + "': this is one array, 'data'")
          .in_file(name);
    }
    Result<chunked::Array> array = make_array(*store, "", "data", *root);
    if (!array) return std::move(array).error();
    arrays.push_back(*std::move(array));
    return arrays;
  }
  std::vector<std::string> paths = fields;
  if (paths.empty()) {
    Result<std::vector<std::string>> all = list_all(**store, *root);
    if (!all) return std::move(all).error();
    paths = *std::move(all);
  }
  for (const std::string& path : paths) {
    const Result<Found> found = look(**store, path);
    if (!found) return found.error();
    if (!found->array) {
      const Result<std::vector<std::string>> all = list_all(**store, *root);
      return Error(Code::no_field, "there is no array '" + path +
                                       "'; there are: " + (all ? joined(*all) : "others, perhaps"))
          .in_file(name);
    }
    Result<chunked::Array> array = make_array(*store, path, path, *found);
    if (!array) return std::move(array).error();
    if (array->shape.empty() && fields.empty()) continue;
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

Result<std::string> attributes(const std::string& name, const std::string& path) {
  const Result<StorePtr> store = open_store(name);
  if (!store) return store.error();
  Result<Found> found = look(**store, path);
  if (found && found->version == 0 && path == "data") found = look(**store, "");
  if (!found) return found.error();
  if (found->version == 0) return not_zarr((*store)->name(path));
  const std::string folder = found->key.substr(0, found->key.rfind('/') + 1);
  const std::string key = found->version == 3 ? found->key : folder + ".zattrs";
  const Result<Text> text = text_of(**store, key);
  if (!text) return text.error();
  if (!*text) return std::string("{}");
  const Result<Json> json = parse_json(**text);
  if (!json) return Error(json.error()).in_file((*store)->name(key));
  if (found->version == 2) return **text;
  const Json* own = member(*json, "attributes");
  return own == nullptr ? "{}" : own->dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_store(const std::string& folder) {
  struct stat info;
  for (const char* key : {"zarr.json", ".zarray", ".zgroup", ".zmetadata"}) {
    if (::stat((folder + "/" + key).c_str(), &info) == 0) return true;
  }
  return false;
}

}  // namespace penstock::formats::zarr

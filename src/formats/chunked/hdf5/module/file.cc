// The module: libhdf5 asked for what is in a file. The only code that calls it.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "formats/chunked/hdf5/module.h"
#include "formats/chunked/hdf5/module/attributes.h"
#include "formats/chunked/hdf5/module/driver.h"
#include "formats/chunked/hdf5/module/handle.h"
#include "formats/chunked/hdf5/module/types.h"

namespace penstock::formats::hdf5 {
namespace {

// libhdf5 has state of its own that all files share.
std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

// What the driver came across says more than libhdf5 does.
Error failure_of(const std::string& doing, Remote* remote) {
  if (remote != nullptr && remote->failure) return *std::exchange(remote->failure, std::nullopt);
  return Error(Code::corrupt, "libhdf5 cannot " + doing + ": " + last_failure());
}

class OpenedFile final : public File {
 public:
  OpenedFile(hid_t id, std::shared_ptr<Remote> remote) : id_(id), remote_(std::move(remote)) {}
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() override {
    const std::lock_guard hold(library());
    for (const auto& [path, dataset] : open_) H5Dclose(dataset);
    H5Fclose(id_);
  }

  Result<std::vector<std::string>> datasets() const override {
    const std::lock_guard hold(library());
    std::vector<std::string> paths;
    const herr_t done = H5Ovisit2(
        id_, H5_INDEX_NAME, H5_ITER_INC,
        [](hid_t, const char* name, const H5O_info_t* info, void* into) -> herr_t {
          if (info->type == H5O_TYPE_DATASET) {
            static_cast<std::vector<std::string>*>(into)->push_back(name);
          }
          return 0;
        },
        &paths, H5O_INFO_BASIC);
    if (done < 0) return failed("list the file");
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  bool has(const std::string& path) const override {
    const std::lock_guard hold(library());
    H5O_info_t info;
    return H5Oget_info_by_name2(id_, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_DATASET;
  }

  Result<Dataset> describe(const std::string& path, const Stored& stored) const override {
    const std::lock_guard hold(library());
    const hid_t id = dataset(path);
    if (id < 0) return not_opened(path);
    const Handle stored_as = type_handle(H5Dget_type(id));
    const Handle space = space_handle(H5Dget_space(id));
    if (!stored_as || !space) return failed("open dataset '" + path + "'");
    const Handle type = read_as(stored_as.get());
    Dataset found;
    set_type(type.get(), found);
    set_extents(space.get(), found);
    if (varies(type.get())) {
      if (found.shape.empty() || !found.unreadable.empty()) return found;
      const Stored::Object place = place_of(id);
      if (place.header == Dataset::kNowhere) {
        found.unreadable =
            "text and lists of variable length are read only of files whose addresses and lengths "
            "are 8 bytes wide, and not through links into other files";
        return found;
      }
      Result<Stored::Bytes> fill = stored.fill(place, found.text ? 1 : found.element_bytes);
      if (!fill) return std::move(fill).error();
      found.fill = *std::move(fill);
    }
    // What this gives has its fill value converted, which is to be sound by now.
    const Handle created = plist_handle(H5Dget_create_plist(id));
    if (!created) return failed("open dataset '" + path + "'");
    if (found.shape.empty()) return found;
    const bool plain = found.unreadable.empty() && !found.text && !found.list;
    if (plain) found.fill.resize(H5Tget_size(type.get()));
    // Asked for a damaged one, libhdf5 1.10 does not come back: so it is looked at first.
    H5D_fill_value_t fill = H5D_FILL_VALUE_ERROR;
    if (H5Pfill_value_defined(created.get(), &fill) < 0 || fill == H5D_FILL_VALUE_ERROR ||
        (fill == H5D_FILL_VALUE_USER_DEFINED && plain &&
         H5Pget_fill_value(created.get(), type.get(), found.fill.data()) < 0)) {
      return failed("find the fill value of dataset '" + path + "'");
    }
    for (int i = 0; i < H5Pget_nfilters(created.get()); ++i) {
      unsigned flags = 0, settings = 0;
      std::size_t count = 64;
      Filter filter;
      filter.values.resize(count);
      char name[64] = "";
      filter.id = H5Pget_filter2(created.get(), unsigned(i), &flags, &count, filter.values.data(),
                                 sizeof(name), name, &settings);
      filter.name.assign(name, strnlen(name, sizeof(name)));
      filter.available = H5Zfilter_avail(filter.id) > 0;
      filter.values.resize(std::min<std::size_t>(count, filter.values.size()));
      found.filters.push_back(std::move(filter));
    }
    set_layout(id, created.get(), found);
    if (found.only_hdf5.empty() && H5Tequal(type.get(), stored_as.get()) == 0) {
      found.only_hdf5 = "its integers have fewer bits than their bytes";
    }
    return found;
  }

  Status read_rows(const std::string& path, std::uint64_t first, std::uint64_t count,
                   std::span<std::byte> into) const override {
    const std::lock_guard hold(library());
    const hid_t id = dataset(path);
    if (id < 0) return failed("open dataset '" + path + "'");
    const Handle stored_as = type_handle(H5Dget_type(id));
    const Handle type = read_as(stored_as.get());
    const Handle space = space_handle(H5Dget_space(id));
    std::vector<hsize_t> start(std::size_t(std::max(H5Sget_simple_extent_ndims(space.get()), 1)),
                               0);
    std::vector<hsize_t> extents(start.size());
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    start[0] = first;
    extents[0] = count;
    hsize_t bytes = H5Tget_size(type.get());
    for (const hsize_t extent : extents) bytes *= extent;
    if (bytes != into.size()) return Error(Code::internal, "rows have another size than expected");
    const Handle rows =
        space_handle(H5Screate_simple(int(extents.size()), extents.data(), nullptr));
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(),
                            nullptr) < 0 ||
        H5Dread(id, type.get(), rows.get(), space.get(), H5P_DEFAULT, into.data()) < 0) {
      return failed("read dataset '" + path + "'");
    }
    return {};
  }

  Result<std::string> attributes(const std::string& path, const Stored& stored) const override {
    const std::lock_guard hold(library());
    const Handle object(H5Oopen(id_, path.empty() ? "/" : path.c_str(), H5P_DEFAULT), &H5Oclose);
    if (!object) return failed("open '" + path + "'");
    return attributes_json(object.get(), {stored, place_of(object.get())});
  }

 private:
  Error failed(const std::string& doing) const { return failure_of(doing, remote_.get()); }

  // A header that has a checksum is of a later version than ours, where it is not known.
  Error not_opened(const std::string& path) const {
    Error error = failed("open dataset '" + path + "'");
    H5O_info_t info;
    if (error.message().find("version") == std::string::npos ||
        H5Oget_info_by_name2(id_, path.c_str(), &info, H5O_INFO_HDR, H5P_DEFAULT) < 0 ||
        info.hdr.version < 2) {
      return error;
    }
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    const std::string own = std::to_string(major) + "." + std::to_string(minor);
    return Error(Code::unsupported,
                 error.message() + ": it was written by a later HDF5 than this libhdf5, which is " +
                     own + "." + std::to_string(release) +
                     "; write it with h5py.File(..., libver=('earliest', 'v" +
                     std::to_string(major) + std::to_string(minor) +
                     "')), or build Penstock with a later libhdf5");
  }

  static void set_extents(hid_t space, Dataset& found) {
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank <= 0) return;
    found.shape.resize(std::size_t(rank));
    static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));
    found.most.resize(std::size_t(rank));
    static_assert(H5S_UNLIMITED == ~hsize_t(0));
    H5Sget_simple_extent_dims(space, reinterpret_cast<hsize_t*>(found.shape.data()),
                              reinterpret_cast<hsize_t*>(found.most.data()));
  }

  // Without a header if that is in another file, or has addresses that are not 8 bytes wide.
  Stored::Object place_of(hid_t object) const {
    const Handle file = plist_handle(H5Fget_create_plist(id_));
    hsize_t before = 0;
    std::size_t address_bytes = 0, length_bytes = 0;
    H5Pget_userblock(file.get(), &before);
    H5Pget_sizes(file.get(), &address_bytes, &length_bytes);
    Stored::Object place{Dataset::kNowhere, before};
    H5O_info_t info, root;
    if (address_bytes == 8 && length_bytes == 8 &&
        H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0 &&
        H5Oget_info2(id_, &root, H5O_INFO_BASIC) >= 0 && info.fileno == root.fileno) {
      place.header = info.addr;
    }
    return place;
  }

  static void set_type(hid_t type, Dataset& found) {
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
      found.descr = "text";
      found.text = true;
      return;
    }
    const Handle item = type_handle(kind == H5T_VLEN ? H5Tget_super(type) : H5Tcopy(type));
    Result<TypeWords> words = words_of(item.get());
    const bool numbers = words && words->inner.empty() && words->descr.size() == 3 &&
                         std::strchr("biuf", words->descr[1]) != nullptr;
    if (words && kind == H5T_VLEN && !numbers) words = words_of(type);
    if (!words) {
      found.unreadable = words.error().message();
      return;
    }
    found.list = kind == H5T_VLEN;
    found.descr = std::move(words->descr);
    found.inner = std::move(words->inner);
    found.element_bytes = words->bytes;
    found.texts = std::move(words->texts);
  }

  // Stays open: below 0 if it cannot be opened.
  hid_t dataset(const std::string& path) const {
    const auto known = open_.find(path);
    if (known != open_.end()) return known->second;
    const hid_t id = H5Dopen2(id_, path.c_str(), H5P_DEFAULT);
    if (id >= 0) open_.emplace(path, id);
    return id;
  }

  void set_layout(hid_t id, hid_t created, Dataset& found) const {
    const Stored::Object place = place_of(id);
    found.base = place.base;
    found.header = place.header;
    if (H5Pget_external_count(created) > 0) {
      found.only_hdf5 = "its elements are in other files";
      found.elsewhere = true;
    }
    H5O_info_t info, root;
    if (H5Oget_info2(id, &info, H5O_INFO_BASIC) >= 0 &&
        H5Oget_info2(id_, &root, H5O_INFO_BASIC) >= 0 && info.fileno != root.fileno) {
      found.only_hdf5 = "a link leads to it in another file";
      found.elsewhere = true;
    }
    unsigned options = 0;
    if (H5Pget_chunk_opts(created, &options) >= 0 &&
        (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0) {
      found.only_hdf5 = "chunks at its edges are not filtered";
    }
    switch (H5Pget_layout(created)) {
      case H5D_CHUNKED: {
        found.layout = Dataset::Layout::chunked;
        found.chunk.resize(found.shape.size());
        H5Pget_chunk(created, int(found.chunk.size()),
                     reinterpret_cast<hsize_t*>(found.chunk.data()));
        break;
      }
      case H5D_CONTIGUOUS: {
        found.layout = Dataset::Layout::contiguous;
        const haddr_t offset = H5Dget_offset(id);
        // Nowhere is a little before a user block's end: libhdf5 1.10 adds that to all ones.
        if (offset != HADDR_UNDEF && offset >= found.base) found.offset = offset;
        break;
      }
      case H5D_VIRTUAL:
        found.elsewhere = true;
        break;
      default:
        break;
    }
  }

  hid_t id_;
  std::shared_ptr<Remote> remote_;  // null: a local file
  mutable std::map<std::string, hid_t> open_;
};

Result<std::shared_ptr<const File>> open_file(const std::string& name,
                                              std::shared_ptr<const storage::Source> source) {
  const std::lock_guard hold(library());
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // it prints otherwise
  std::shared_ptr<Remote> remote;
  const Handle access = plist_handle(H5Pcreate(H5P_FILE_ACCESS));
  if (source != nullptr) {
    remote = std::make_shared<Remote>(std::move(source));
    if (!use_driver(access.get(), remote))
      return failure_of("take a driver for files from afar", {});
  }
  const hid_t id = H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) return failure_of("open the file", remote.get());
  return std::shared_ptr<const File>(std::make_shared<OpenedFile>(id, std::move(remote)));
}

}  // namespace
}  // namespace penstock::formats::hdf5

extern "C" __attribute__((visibility("default"))) void* penstock_hdf5_open() {
  return reinterpret_cast<void*>(&penstock::formats::hdf5::open_file);
}

#include "formats/open.h"

#include <sys/stat.h>

#include <algorithm>

#include "formats/chunked/zarr/open.h"
#include "formats/folder.h"
#include "formats/tar/tar.h"
#include "formats/tfrecord/tfrecord.h"
#include "storage/expand.h"
#include "storage/source.h"

namespace penstock::formats {
namespace {

constexpr std::pair<std::string_view, Format> kFormats[] = {
    {"", Format::detect},         {"tar", Format::tar},           {"folder", Format::folder},
    {"files", Format::files},     {"tfrecord", Format::tfrecord}, {"npy", Format::npy},
    {"npz", Format::npz},         {"zarr", Format::zarr},         {"hdf5", Format::hdf5},
    {"parquet", Format::parquet}, {"arrow", Format::arrow},
};

constexpr const char* kNames =
    "tar, tfrecord, npy, npz, zarr, hdf5, parquet, arrow, folder or files";

bool is_folder(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_compressed_tar(std::string_view name) {
  return name.ends_with(".tar.gz") || name.ends_with(".tgz") || name.ends_with(".tar.zst");
}

// x.tfrecord, x.tfrecords.gz, x.tfrecord-00003-of-00010
bool is_tfrecord(std::string_view name) {
  constexpr std::string_view kWord = ".tfrecord";
  const std::size_t at = name.rfind(kWord);
  if (at == name.npos) return false;
  std::string_view rest = name.substr(at + kWord.size());
  if (rest.starts_with('s')) rest.remove_prefix(1);
  return rest.empty() || rest == ".gz" || rest == ".zlib" || rest.starts_with('-');
}

// A folder that is called so is meant to be one, even if its metadata is missing.
bool looks_like_zarr(std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return folder.ends_with(".zarr") || zarr::is_store(std::string(folder));
}

Result<Format> format_of(const std::string& written) {
  if (is_folder(written)) return looks_like_zarr(written) ? Format::zarr : Format::folder;
  std::string_view name = written;
  if (storage::is_url(name)) name = name.substr(0, name.find_first_of("?#"));
  if (name.ends_with(".tar") || is_compressed_tar(name)) return Format::tar;
  if (is_tfrecord(name)) return Format::tfrecord;
  if (name.ends_with(".npy")) return Format::npy;
  if (name.ends_with(".npz")) return Format::npz;
  if (name.ends_with(".zarr") || name.ends_with(".zarr.zip")) return Format::zarr;
  if (name.ends_with(".h5") || name.ends_with(".hdf5")) return Format::hdf5;
  if (name.ends_with(".parquet") || name.ends_with(".parq")) return Format::parquet;
  if (name.ends_with(".feather") || name.ends_with(".arrow")) return Format::arrow;
  if (is_image_name(name)) return Format::files;
  return Error(Code::unsupported,
               std::string("cannot tell the format from this name: give format=, one of ") +
                   kNames + " (or tokens, in Python)")
      .in_file(written);
}

Result<std::vector<std::string>> names_of(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return Error(Code::invalid_argument, "there is nothing to open");
  Result<std::vector<std::string>> names = storage::expand(patterns);
  if (!names) return names;
  return names;
}

// The one format of all of them.
Result<Format> common_format(const std::vector<std::string>& names, Format wanted) {
  if (wanted != Format::detect) return wanted;
  Result<Format> first = format_of(names[0]);
  if (!first) return first;
  for (const std::string& name : names) {
    const Result<Format> format = format_of(name);
    if (!format) return format;
    if (*format == *first) continue;
    return Error(Code::invalid_argument,
                 "one dataset has one format, but this is not what " + names[0] +
                     " is; open them one by one and concatenate the datasets")
        .in_file(name);
  }
  return first;
}

}  // namespace

Result<Format> format_named(std::string_view name) {
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return Error(Code::invalid_argument,
               std::string("format must be ") + kNames + ", not " + std::string(name));
}

std::string_view name_of(Format format) noexcept {
  for (const auto& [name, known] : kFormats) {
    if (known == format) return name;
  }
  return {};
}

Error too_large(const std::string& what, std::uint64_t size, std::uint64_t max_member) {
  return Error(Code::out_of_range, what + " has " + std::to_string(size) +
                                       " bytes, more than max_member, which is " +
                                       std::to_string(max_member) +
                                       "; give a larger max_member if it is meant to be so large");
}

Result<Format> detect_format(const std::vector<std::string>& names) {
  const Result<std::vector<std::string>> paths = names_of(names);
  if (!paths) return paths.error();
  return common_format(*paths, Format::detect);
}

Result<std::shared_ptr<const Records>> open_records(const std::vector<std::string>& names,
                                                    const OpenOptions& options) {
  const Result<std::vector<std::string>> paths = names_of(names);
  if (!paths) return paths.error();
  const Result<Format> format = common_format(*paths, options.format);
  if (!format) return format.error();
  if (options.mmap && (*format == Format::folder || *format == Format::files)) {
    return Error(Code::unsupported,
                 "mmap is for files of many records; files of one record each are read")
        .in_file(paths->front());
  }
  switch (*format) {
    case Format::folder:
      if (paths->size() == 1) return open_folder(paths->front(), options);
      return Error(Code::invalid_argument,
                   "open one folder at a time, and concatenate the datasets")
          .in_file((*paths)[1]);
    case Format::files:
      return open_files(*paths, options);
    case Format::tfrecord:
      return tfrecord::open_shards(*paths, options);
    case Format::npy:
    case Format::npz:
    case Format::zarr:
    case Format::hdf5:
      return Error(Code::unsupported, "arrays have rows, not records").in_file(paths->front());
    case Format::parquet:
    case Format::arrow:
      return Error(Code::unsupported, "tables are read by pyarrow, through penstock.open in Python")
          .in_file(paths->front());
    case Format::tar:
    case Format::detect:
      break;
  }
  return tar::open_shards(*paths, options);
}

Result<std::unique_ptr<RecordStream>> open_stream(const std::vector<std::string>& names,
                                                  BufferPool& pool, const OpenOptions& options) {
  Result<std::vector<std::string>> paths = names_of(names);
  if (!paths) return paths.error();
  const Result<Format> format = common_format(*paths, options.format);
  if (!format) return format.error();
  if (*format == Format::tfrecord) {
    return tfrecord::stream_shards(*std::move(paths), pool, options);
  }
  if (*format != Format::tar) {
    return Error(Code::unsupported,
                 "only tars and TFRecord files are streamed; open it with an index")
        .in_file(paths->front());
  }
  return tar::stream_shards(*std::move(paths), pool, options);
}

}  // namespace penstock::formats

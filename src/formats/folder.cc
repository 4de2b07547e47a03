#include "formats/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "formats/digest.h"
#include "formats/file_records.h"
#include "formats/parallel.h"
#include "storage/file.h"

namespace penstock::formats {
namespace {

constexpr std::array<std::string_view, 13> kExtensions = {".jpg",  ".jpeg", ".png", ".webp", ".tif",
                                                          ".tiff", ".bmp",  ".gif", ".pnm",  ".ppm",
                                                          ".pgm",  ".pbm",  ".jpe"};
constexpr int kDeepest = 64;

struct Found {
  std::string name;  // relative to the folder that was listed
  std::uint64_t size = 0;
};

struct Listing {
  std::vector<Found> images;
  std::vector<std::string> folders;
  Findings findings;
};

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// What is in one folder; links are followed.
Status list(const std::string& path, Listing& into) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) return storage::system_error(errno, "open", path);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (name.starts_with('.')) {
      ++into.findings.unnamed;
      continue;
    }
    const bool image = is_image_name(name);
    if (!image && entry->d_type == DT_REG) {
      ++into.findings.unnamed;
      continue;
    }
    struct stat info;
    if (::fstatat(::dirfd(folder.get()), entry->d_name, &info, 0) != 0) {
      ++into.findings.not_files;  // a link that leads nowhere
    } else if (S_ISDIR(info.st_mode)) {
      into.folders.emplace_back(name);
    } else if (!S_ISREG(info.st_mode)) {
      ++into.findings.not_files;
    } else if (!image) {
      ++into.findings.unnamed;
    } else {
      into.images.push_back({std::string(name), std::uint64_t(info.st_size)});
    }
  }
  if (errno != 0) return storage::system_error(errno, "list", path);
  std::sort(into.folders.begin(), into.folders.end());
  return {};
}

// All images of a class, its sub-folders' included; names are relative to the class.
Status list_class(const std::string& path, const std::string& prefix, int depth, Listing& into) {
  if (depth > kDeepest) {
    return Error(Code::invalid_argument,
                 "folders are nested too deeply: is there a link to a "
                 "folder above?")
        .in_file(path);
  }
  Listing here;
  if (Status status = list(path, here); !status) return status;
  into.findings += here.findings;
  for (Found& image : here.images) into.images.push_back({prefix + image.name, image.size});
  for (const std::string& folder : here.folders) {
    Status status = list_class(path + "/" + folder, prefix + folder + "/", depth + 1, into);
    if (!status) return status;
  }
  return {};
}

void sort_by_name(std::vector<Found>& images) {
  std::sort(images.begin(), images.end(),
            [](const Found& a, const Found& b) { return a.name < b.name; });
}

void add(const std::vector<Found>& images, const std::string& prefix, FileRecords::Files& files) {
  for (const Found& image : images) {
    files.names.add(prefix + image.name);
    files.sizes.push_back(image.size);
  }
}

std::uint64_t digest_of(const NameList& names, std::size_t skipped) noexcept {
  Digest digest;
  digest.add(std::uint64_t(names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) digest.add(names[i].substr(skipped));
  return digest.value();
}

}  // namespace

bool is_image_name(std::string_view name) noexcept {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view extension = name.substr(dot);
  return std::any_of(kExtensions.begin(), kExtensions.end(), [&](std::string_view known) {
    return std::equal(known.begin(), known.end(), extension.begin(), extension.end(),
                      [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  });
}

Result<std::shared_ptr<const Records>> open_folder(const std::string& root,
                                                   const OpenOptions& options) {
  Listing top;
  if (Status status = list(root, top); !status) return status.error();
  std::vector<Listing> classes(top.folders.size());
  std::vector<Status> outcomes(classes.size());
  for_each_in_parallel(classes.size(), options.threads, [&](std::size_t i) {
    outcomes[i] = list_class(root + "/" + top.folders[i], "", 0, classes[i]);
    sort_by_name(classes[i].images);
  });
  FileRecords::Files files;
  files.root = root.ends_with('/') ? root : root + "/";
  files.findings = top.findings;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (!outcomes[i]) return outcomes[i].error();
    files.findings += classes[i].findings;
    add(classes[i].images, top.folders[i] + "/", files);
    files.class_end.push_back(files.names.size());
  }
  if (files.names.size() > 0) {
    files.findings.unnamed += top.images.size();
  } else {
    files.class_end.clear();
    sort_by_name(top.images);
    add(top.images, "", files);
  }
  if (files.names.size() == 0) {
    return Error(Code::not_found, "there is no image in this folder nor in its sub-folders")
        .in_file(root);
  }
  files.digest = digest_of(files.names, 0);
  return FileRecords::over(std::move(files), options.fields, options.max_member);
}

Result<std::shared_ptr<const Records>> open_files(const std::vector<std::string>& paths,
                                                  const OpenOptions& options) {
  FileRecords::Files files;
  files.sizes.resize(paths.size());
  std::vector<Status> outcomes(paths.size());
  constexpr std::size_t kAtOnce = 256;
  for_each_in_parallel((paths.size() + kAtOnce - 1) / kAtOnce, options.threads, [&](std::size_t b) {
    for (std::size_t i = b * kAtOnce; i < std::min((b + 1) * kAtOnce, paths.size()); ++i) {
      const Result<storage::Stamp> stamp = storage::stamp_of(paths[i]);
      if (stamp) files.sizes[i] = stamp->size;
      if (!stamp) outcomes[i] = stamp.error();
    }
  });
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!outcomes[i]) return outcomes[i].error();
    files.names.add(paths[i]);
  }
  files.digest = digest_of(files.names, common_folder(paths));
  return FileRecords::over(std::move(files), options.fields, options.max_member);
}

}  // namespace penstock::formats

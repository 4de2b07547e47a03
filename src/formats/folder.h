// Image files as records: a folder with a sub-folder per class, a flat folder, a list of files.
//
// Fields: "image" (the file's bytes), "label" (the sub-folder's index; only with classes), "path"
// (the root as it was given, then the name). Classes and the files of a class come in byte-wise
// order. Files count as images by their extension; others, and hidden ones, are passed over and
// counted. Sub-folders of a class belong to it. With classes, images outside of any are passed
// over.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/open.h"
#include "formats/records.h"

namespace penstock::formats {

// Fails with not_found if there is no image.
Result<std::shared_ptr<const Records>> open_folder(const std::string& root,
                                                   const OpenOptions& options);

// In the order given. Fails if one of them is missing.
Result<std::shared_ptr<const Records>> open_files(const std::vector<std::string>& paths,
                                                  const OpenOptions& options);

// Is it one of the extensions of the images that we read?
bool is_image_name(std::string_view name) noexcept;

}  // namespace penstock::formats

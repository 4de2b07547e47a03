#include "formats/tar/tar.h"

namespace penstock::formats::tar {

Error error_of(Trouble trouble, std::uint64_t offset, std::string_view key,
               const std::string& file) {
  Code code = Code::corrupt;
  std::string what;
  switch (trouble) {
    case Trouble::damaged:
      what = "a tar header is damaged, so this sample is incomplete or lost";
      break;
    case Trouble::cut:
      what = "the tar ends inside this sample: the file was cut off";
      break;
    case Trouble::duplicate:
      what = "two samples of this tar have the same key; rename one of them";
      break;
    case Trouble::too_large:  // said where the size is known
    case Trouble::none:
      code = Code::internal;
      what = "no trouble";
      break;
  }
  return Error(code, std::move(what))
      .in_file(file)
      .at_offset(std::int64_t(offset))
      .of_sample(std::string(key));
}

}  // namespace penstock::formats::tar

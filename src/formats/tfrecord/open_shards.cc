#include "formats/open_shards.h"

#include <algorithm>
#include <array>

#include "formats/tfrecord/frame.h"
#include "formats/tfrecord/packing.h"
#include "formats/tfrecord/tfrecord.h"
#include "storage/expand.h"
#include "storage/source.h"

namespace penstock::formats::tfrecord {
namespace {

Status check_start(std::span<const std::byte> start) {
  if (packing_of(start) == Packing::none) return {};
  return Error(Code::unsupported,
               "a compressed TFRecord file can only be read from front to back; for len, an index "
               "and a global shuffle unpack it");
}

// Looks at the headers of the last record and, where that costs little, of some before it.
Result<bool> fits(const storage::Source& file, const Index& index) {
  constexpr std::uint64_t kSome = 8;
  const std::uint64_t count = index.records();
  const std::uint64_t some = std::min(count, storage::is_url(file.name()) ? 1 : kSome);
  for (std::uint64_t k = 1; k <= some; ++k) {
    const std::uint64_t i = k == some ? count - 1 : (count / some) * (k - 1);
    Index::Entry entry;
    Index::Part part;
    if (index.bad(i) != nullptr || !index.entry(i, entry) || entry.count == 0) continue;
    if (!index.part(i, entry.first, part) || part.offset < kHeaderBytes) return false;
    std::array<std::byte, kHeaderBytes> header;
    Status status = file.read(part.offset - kHeaderBytes, header);
    if (!status) return std::move(status).error();
    if (length_of(header.data()) != part.size) return false;
  }
  return true;
}

}  // namespace

Error error_of(Trouble trouble, std::uint64_t offset, std::uint64_t lost, std::string_view record,
               const std::string& file) {
  Code code = Code::corrupt;
  std::string what;
  switch (trouble) {
    case Trouble::damaged:
      what = "the header of this record is damaged: it is lost, and what else was in the " +
             std::to_string(lost) + " bytes up to the next sound one";
      break;
    case Trouble::cut:
      what = "the file ends inside this record: it was cut off";
      break;
    case Trouble::checksum:
      what = "the checksum of this record is wrong: its bytes were changed after it was written";
      break;
  }
  return Error(code, std::move(what))
      .in_file(file)
      .at_offset(std::int64_t(offset))
      .of_sample(std::string(record));
}

Result<bool> is_packed(const std::vector<std::string>& names) {
  const Result<std::vector<std::string>> paths = storage::expand(names);
  if (!paths) return paths.error();
  for (const std::string& path : *paths) {
    const auto file = storage::open_source(path);
    if (!file) return file.error();
    std::array<std::byte, kHeaderBytes> start;
    const auto known =
        std::span(start).first(std::size_t(std::min<std::uint64_t>(start.size(), (*file)->size())));
    if (Status status = (*file)->read(0, known); !status) return status.error();
    if (packing_of(known) != Packing::none) return true;
  }
  return false;
}

Result<std::shared_ptr<const Records>> open_shards(const std::vector<std::string>& paths,
                                                   const OpenOptions& options) {
  IndexedRecords::Traits traits;
  traits.explain = [](std::uint64_t trouble, std::uint64_t offset, std::string_view key,
                      const std::string& file) {
    return error_of(Trouble(trouble & ((1U << kTroubleBits) - 1)), offset, trouble >> kTroubleBits,
                    key, file);
  };
  traits.keyed = false;
  if (options.verify) {
    traits.trailer = kFooterBytes;
    traits.check = is_sound;
  }
  return formats::open_shards(paths, options, check_start, make_index, traits, fits);
}

}  // namespace penstock::formats::tfrecord

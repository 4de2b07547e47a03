#include "formats/index_builder.h"
#include "formats/part_hasher.h"
#include "formats/tar/header_walks.h"
#include "formats/tar/names.h"
#include "formats/tar/samples.h"
#include "formats/tar/scanner.h"
#include "formats/tar/tar.h"
#include "formats/window.h"
#include "storage/stream.h"

namespace penstock::formats::tar {
namespace {

constexpr std::size_t kBlockSize = std::size_t(1) << 20;

// One pass over one tar.
class Pass {
 public:
  Pass(storage::Stream& stream, bool hashes, std::size_t walks)
      : window_(stream, pool_, hashes ? Window::Reading::all : Window::Reading::headers,
                kBlockSize),
        scanner_(window_),
        walks_(stream, hashes ? 0 : walks),
        builder_(hashes),
        hashes_(hashes) {}

  Result<Index> run(storage::Stamp stamp) {
    for (;;) {
      window_.keep_from(scanner_.position());
      const Result<Scanner::Event> event = scanner_.next();
      if (!event) return event.error();
      if (*event == Scanner::Event::end) break;
      if (*event == Scanner::Event::damage) {
        const Damage& damage = scanner_.damage();
        const auto name = split_name(damage.name);
        samples_.damage(name ? name->key : std::string_view(damage.name), damage.offset);
      } else if (const Status status = on_member(stamp); !status) {
        return status.error();
      }
      collect();
    }
    samples_.finish(scanner_.unmarked_end());
    collect();
    return finish(stamp);
  }

 private:
  Status on_member(storage::Stamp stamp) {
    ++members_;
    walks_.passed(scanner_.position());
    const Member& member = scanner_.member();
    const auto name = split_name(member.name);
    if (!name) {
      ++unnamed_;
      return {};
    }
    const auto field = fields_.number(name->field, last_field_ + 1);
    if (!field) {
      return Error(
          Code::unsupported,
          "more than 65535 different extensions; what is before the first dot of a name is "
          "its key: are there dots in the keys?");
    }
    last_field_ = *field;
    Part part{*field, member.payload, member.size, 0};
    if (scanner_.cut()) part.size = stamp.size - std::min(stamp.size, part.offset);
    if (hashes_) {
      const Result<std::uint64_t> hash = hasher_.hash(window_, part.offset, part.size);
      if (!hash) return hash.error();
      part.hash = *hash;
    }
    samples_.add(name->key, part, member.header);
    if (scanner_.cut()) samples_.open().spoil(Trouble::cut, member.payload);
    return {};
  }

  void collect() {
    while (samples_.take(sample_)) {
      builder_.begin(sample_.key, sample_.parts.empty() ? sample_.start : sample_.parts[0].offset);
      for (const Part& part : sample_.parts) {
        builder_.part(part.field, part.offset, part.size, part.hash);
      }
      if (sample_.trouble != Trouble::none) {
        builder_.spoil(std::uint64_t(sample_.trouble), sample_.trouble_at);
      }
    }
  }

  Result<Index> finish(storage::Stamp stamp) {
    IndexBuilder::Extra extra;
    extra.stamp = stamp;
    extra.findings = scanner_.findings();
    const Findings& found = extra.findings;
    if (members_ == 0 && found.not_files == 0 && found.sparse == 0 && found.damaged > 0) {
      return Error(Code::corrupt, "this is not a tar: there is no header in it");
    }
    extra.fields.assign(fields_.all().begin(), fields_.all().end());
    extra.findings.unnamed = unnamed_;
    for (const std::uint64_t record : builder_.repeated_keys()) {
      extra.bad.push_back({record, std::uint64_t(Trouble::duplicate), builder_.start(record)});
    }
    extra.findings.duplicates = extra.bad.size();
    return builder_.finish(extra);
  }

  BufferPool pool_;
  Window window_;
  Scanner scanner_;
  HeaderWalks walks_;
  Samples samples_;
  Sample sample_;
  FieldNames fields_;
  IndexBuilder builder_;
  bool hashes_;
  PartHasher hasher_;
  std::size_t last_field_ = 0;
  std::uint64_t members_ = 0, unnamed_ = 0;
};

}  // namespace

Result<Index> make_index(storage::Stream& stream, storage::Stamp stamp, bool hashes,
                         std::size_t walks) {
  return Pass(stream, hashes, walks).run(stamp);
}

}  // namespace penstock::formats::tar

// Tars from front to back: every member is read, samples are views into blocks of the window.
#include "storage/stream.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "formats/tar/names.h"
#include "formats/tar/samples.h"
#include "formats/tar/scanner.h"
#include "formats/tar/tar.h"
#include "formats/window.h"

namespace penstock::formats::tar {
namespace {

constexpr std::string_view kKey = "__key__";
constexpr std::uint64_t kLarge = 32 << 10;  // a copy of this much takes longer than a call

// A member that was read into memory of its own.
struct LargeMember {
  std::uint64_t offset = 0;
  Buffer memory;
};

// One tar under way.
struct Shard {
  Shard(std::unique_ptr<storage::Stream> bytes, BufferPool& pool, Window::Reading reading)
      : stream(std::move(bytes)), window(*stream, pool, reading), scanner(window) {}

  std::unique_ptr<storage::Stream> stream;
  Window window;
  Scanner scanner;
  Samples samples;
  std::deque<LargeMember> large;  // of samples that were not delivered yet
  std::optional<Error> failure;   // the rest of it cannot be read
  std::uint64_t members = 0;
  bool ended = false;
};

class TarStream final : public RecordStream {
 public:
  TarStream(std::vector<std::string> paths, BufferPool& pool, const OpenOptions& options)
      : paths_(std::move(paths)),
        queue_(paths_),
        pool_(&pool),
        wanted_(options.fields),
        max_member_(options.max_member),
        large_members_(options.large_members) {}
  TarStream(std::span<const std::byte> bytes, BufferPool& pool, const OpenOptions& options)
      : TarStream(std::vector<std::string>{"memory"}, pool, options) {
    memory_ = bytes;
  }

  Result<bool> next(Record& into) override {
    for (;;) {
      if (!shard_) {
        if (next_path_ == paths_.size()) {
          into.clear();
          return false;
        }
        if (Status status = open_next(); !status) {
          into.clear();
          return status.error();
        }
      }
      if (shard_->samples.take(sample_)) {
        Status status = deliver(into);
        if (status.ok()) return true;
        into.clear();
        return status.error();
      }
      if (shard_->ended) {
        const std::optional<Error> failure = std::move(shard_->failure);
        findings_ += shard_->scanner.findings();
        shard_.reset();
        if (!failure) continue;
        into.clear();
        return *failure;
      }
      if (Status status = advance(); !status) end_with(status.error());
    }
  }

  Findings findings() const noexcept override {
    Findings all = findings_;
    if (shard_) all += shard_->scanner.findings();
    return all;
  }

 private:
  Status open_next() {
    const std::string& path = paths_[next_path_++];
    std::unique_ptr<storage::Stream> stream;
    std::byte start[4] = {};
    if (memory_) {
      stream = storage::stream_over(*memory_, path);
    } else {
      Result<std::unique_ptr<storage::Stream>> opened = queue_.open_next();
      if (!opened) return opened.error();
      stream = *std::move(opened);
    }
    storage::Packing packing = storage::Packing::none;
    if (stream->size()) {  // of a pipe the name tells: it is not kept waiting for four bytes
      std::size_t filled = 0;
      for (;;) {
        const Result<std::size_t> count = stream->read(std::span(start).subspan(filled));
        if (!count) return count.error();
        filled += *count;
        if (*count == 0 || filled == sizeof(start)) break;
      }
      if (filled == 0) {
        return Error(Code::corrupt, "the file is empty: this is not a tar").in_file(path);
      }
      packing = storage::packing_of(std::span(start).first(filled));
      stream = storage::put_back(std::span(start).first(filled), std::move(stream));
    } else if (path.ends_with("gz")) {
      packing = storage::Packing::gzip;
    } else if (path.ends_with("zst")) {
      packing = storage::Packing::zstd;
    }
    if (packing == storage::Packing::gzip) stream = storage::gunzip(std::move(stream));
    if (packing == storage::Packing::zstd) stream = storage::unzstd(std::move(stream));
    const auto reading = large_members_ ? Window::Reading::headers : Window::Reading::all;
    shard_ = std::make_unique<Shard>(std::move(stream), *pool_, reading);
    return {};
  }

  // Deals with one member.
  Status advance() {
    Shard& shard = *shard_;
    shard.window.keep_from(shard.samples.oldest(shard.scanner.position()));
    const Result<Scanner::Event> event = shard.scanner.next();
    if (!event) return event.error();
    switch (*event) {
      case Scanner::Event::member:
        ++shard.members;
        return on_member();
      case Scanner::Event::damage: {
        const Damage& damage = shard.scanner.damage();
        const auto name = split_name(damage.name);
        shard.samples.damage(name ? name->key : std::string_view(damage.name), damage.offset);
        return {};
      }
      case Scanner::Event::end:
        break;
    }
    const Findings& found = shard.scanner.findings();
    if (shard.members == 0 && found.not_files == 0 && found.sparse == 0 && found.damaged > 0) {
      return Error(Code::corrupt, "this is not a tar: there is no header in it");
    }
    shard.samples.finish(shard.scanner.unmarked_end());
    shard.ended = true;
    return {};
  }

  Status on_member() {
    Shard& shard = *shard_;
    const Member& member = shard.scanner.member();
    const auto name = split_name(member.name);
    if (!name) {
      ++findings_.unnamed;
      return {};
    }
    const auto field = fields_.number(name->field, last_field_ + 1);
    if (!field) {
      return Error(Code::unsupported,
                   "more than 65535 different extensions; are there dots in the "
                   "keys?");
    }
    last_field_ = *field;
    if (*field == is_wanted_.size()) {
      is_wanted_.push_back(wanted_.empty() || std::find(wanted_.begin(), wanted_.end(),
                                                        fields_.all()[*field]) != wanted_.end());
    }
    shard.samples.add(name->key, {*field, member.payload, member.size, 0}, member.header);
    Sample& sample = shard.samples.open();
    if (shard.scanner.cut()) {
      sample.spoil(Trouble::cut, member.payload);
    } else if (is_wanted_[*field] && sample.trouble == Trouble::none) {
      if (member.size > max_member_) {
        sample.spoil(Trouble::too_large, member.payload);
        return {};
      }
      const Result<std::uint64_t> there = read_member(member);
      if (!there) return there.error();
      if (*there < member.size) {
        shard.scanner.cut_here();
        sample.spoil(Trouble::cut, member.payload);
      }
    }
    return {};
  }

  // How many of its bytes there are: fewer if the tar was cut.
  Result<std::uint64_t> read_member(const Member& member) {
    Shard& shard = *shard_;
    const auto size = std::size_t(member.size);
    if (size < kLarge || !large_members_) {
      const auto bytes = shard.window.at(member.payload, size);
      if (!bytes) return bytes.error();
      return bytes->size();
    }
    Result<Buffer> memory = large_members_(size);
    if (!memory) return std::move(memory).error();
    const Result<std::size_t> count =
        shard.window.read_past(member.payload, memory->bytes().first(size));
    if (!count) return count.error();
    shard.large.push_back({member.payload, *std::move(memory)});
    return *count;
  }

  // The stream cannot be read on. What was complete before is delivered first.
  void end_with(Error error) {
    Shard& shard = *shard_;
    if (shard.samples.is_open()) error.of_sample(shard.samples.open().key);
    error.in_file(shard.stream->name());
    shard.samples.abandon();
    shard.samples.finish();
    shard.failure = std::move(error);
    shard.ended = true;
  }

  Status deliver(Record& into) {
    const Shard& shard = *shard_;
    if (sample_.trouble == Trouble::too_large) return error_of_large_member();
    if (sample_.trouble != Trouble::none) {
      return error_of(sample_.trouble, sample_.trouble_at, sample_.key, shard.stream->name());
    }
    // The header is done with; the key is put in its place, so that all views are into one memory.
    const std::uint64_t end = sample_.parts.back().offset + sample_.parts.back().size;
    while (!shard_->large.empty() && shard_->large.front().offset < sample_.start) {
      shard_->large.pop_front();
    }
    const bool large = !shard.large.empty() && shard.large.front().offset < end;
    const Window::View whole = shard.window.view(sample_.start, end - sample_.start);
    if (large || whole.memory == nullptr) return gather(into);
    into.memory = *whole.memory;
    into.fields.clear();
    add_key(whole.bytes, into);
    for (const Part& part : sample_.parts) {
      if (!is_wanted_[part.field]) continue;
      add_field(part, whole.bytes.subspan(std::size_t(part.offset - sample_.start)), into);
    }
    return {};
  }

  Error error_of_large_member() const {
    const auto member =
        std::find_if(sample_.parts.begin(), sample_.parts.end(),
                     [this](const Part& part) { return part.offset == sample_.trouble_at; });
    return too_large("field " + fields_.all()[member->field], member->size, max_member_)
        .in_file(shard_->stream->name())
        .at_offset(std::int64_t(sample_.trouble_at))
        .of_sample(sample_.key);
  }

  // The member's own memory, or null.
  const Buffer* own_memory(const Part& part) const {
    for (const LargeMember& member : shard_->large) {
      if (member.offset == part.offset) return &member.memory;
    }
    return nullptr;
  }

  // The same for a sample that lies in several pieces, with something large between them.
  Status gather(Record& into) {
    std::size_t size = sample_.key.size();
    for (const Part& part : sample_.parts) {
      if (is_wanted_[part.field] && own_memory(part) == nullptr) size += std::size_t(part.size);
    }
    const Result<Buffer> memory = pool_->allocate(std::max<std::size_t>(size, 1));
    if (!memory) return memory.error();
    into.memory = *memory;
    into.fields.clear();
    std::span<std::byte> room = memory->bytes();
    add_key(room, into);
    room = room.subspan(sample_.key.size());
    for (const Part& part : sample_.parts) {
      if (!is_wanted_[part.field]) continue;
      if (const Buffer* own = own_memory(part); own != nullptr) {
        add_field(part, own->bytes(), into);
        into.fields.back().memory = *own;
        continue;
      }
      const Window::View bytes = shard_->window.view(part.offset, part.size);
      if (bytes.memory == nullptr) {
        return Error(Code::internal, "bytes of this sample were let go")
            .in_file(shard_->stream->name())
            .of_sample(sample_.key);
      }
      if (part.size > 0) std::memcpy(room.data(), bytes.bytes.data(), std::size_t(part.size));
      add_field(part, room, into);
      room = room.subspan(std::size_t(part.size));
    }
    return {};
  }

  void add_key(std::span<std::byte> at, Record& into) const {
    std::memcpy(at.data(), sample_.key.data(), sample_.key.size());
    const std::span<const std::byte> key = at.first(sample_.key.size());
    into.key = {reinterpret_cast<const char*>(key.data()), key.size()};
    into.fields.push_back({kKey, FieldKind::text, key, 0});
  }

  void add_field(const Part& part, std::span<const std::byte> at, Record& into) const {
    into.fields.push_back(
        {fields_.all()[part.field], FieldKind::bytes, at.first(std::size_t(part.size)), 0});
  }

  std::vector<std::string> paths_;
  storage::StreamQueue queue_;  // of them
  std::optional<std::span<const std::byte>> memory_;
  BufferPool* pool_;
  std::vector<std::string> wanted_;
  std::uint64_t max_member_;
  std::function<Result<Buffer>(std::size_t)> large_members_;
  std::size_t next_path_ = 0;
  FieldNames fields_;
  std::vector<bool> is_wanted_;
  std::size_t last_field_ = 0;
  std::unique_ptr<Shard> shard_;
  Sample sample_;
  Findings findings_;  // of the shards before
};

}  // namespace

std::unique_ptr<RecordStream> stream_shards(std::vector<std::string> paths, BufferPool& pool,
                                            const OpenOptions& options) {
  return std::make_unique<TarStream>(std::move(paths), pool, options);
}

std::unique_ptr<RecordStream> stream_memory(std::span<const std::byte> bytes, BufferPool& pool,
                                            const OpenOptions& options) {
  return std::make_unique<TarStream>(bytes, pool, options);
}

}  // namespace penstock::formats::tar

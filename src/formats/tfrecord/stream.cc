// TFRecord files from front to back: records are views into blocks of the window.
#include "storage/stream.h"

#include <array>
#include <optional>

#include "formats/tfrecord/packing.h"
#include "formats/tfrecord/scanner.h"
#include "formats/tfrecord/tfrecord.h"
#include "formats/window.h"

namespace penstock::formats::tfrecord {
namespace {

using storage::Stream;

// One file under way.
struct Shard {
  Shard(std::unique_ptr<Stream> bytes, BufferPool& pool)
      : stream(std::move(bytes)), window(*stream, pool, Window::Reading::all), scanner(window) {}

  std::unique_ptr<Stream> stream;
  Window window;
  Scanner scanner;
  std::uint64_t records = 0;  // so far, bad ones too
};

class TFRecordStream final : public RecordStream {
 public:
  TFRecordStream(std::vector<std::string> paths, BufferPool& pool, const OpenOptions& options)
      : paths_(std::move(paths)),
        pool_(&pool),
        max_member_(options.max_member),
        verify_(options.verify) {}
  TFRecordStream(std::span<const std::byte> bytes, BufferPool& pool, const OpenOptions& options)
      : TFRecordStream(std::vector<std::string>(), pool, options) {
    memory_ = storage::stream_over(bytes, "memory");
  }

  Result<bool> next(Record& into) override {
    for (;;) {
      if (!shard_) {
        into.clear();
        if (!memory_ && paths_.empty()) return false;
        if (Status status = open_next(); !status) return status.error();
      }
      Result<bool> more = advance(into);
      if (!more) {
        into.clear();
        return more;
      }
      if (*more) return true;
      shard_.reset();
    }
  }

  Findings findings() const noexcept override { return findings_; }

 private:
  Status open_next() {
    std::unique_ptr<Stream> stream = std::move(memory_);
    if (!stream) {
      Result<std::unique_ptr<Stream>> opened = paths_.open_next();
      if (!opened) return opened.error();
      stream = *std::move(opened);
    }
    std::array<std::byte, kHeaderBytes> start;
    std::size_t filled = 0;
    while (filled < start.size()) {
      const Result<std::size_t> count = stream->read(std::span(start).subspan(filled));
      if (!count) return count.error();
      if (*count == 0) break;
      filled += *count;
    }
    const std::span<const std::byte> known = std::span(start).first(filled);
    stream = storage::put_back(known, std::move(stream));
    const Packing packing = packing_of(known);
    if (packing == Packing::gzip) stream = storage::gunzip(std::move(stream));
    if (packing == Packing::zlib) stream = storage::unzlib(std::move(stream));
    shard_ = std::make_unique<Shard>(std::move(stream), *pool_);
    return {};
  }

  // False at the end of the file.
  Result<bool> advance(Record& into) {
    Shard& shard = *shard_;
    shard.window.keep_from(shard.scanner.position());
    const Result<Scanner::Event> event = shard.scanner.next();
    if (!event) return end_with(event.error());
    switch (*event) {
      case Scanner::Event::end:
        return false;
      case Scanner::Event::cut:
        return cut();
      case Scanner::Event::damage:
        ++findings_.damaged;
        if (shard.scanner.position() == shard.stream->size() && shard.records == 0) {
          return end_with(
              Error(Code::corrupt, "this is not a TFRecord file: there is no record in it"));
        }
        return bad(Trouble::damaged);
      case Scanner::Event::record:
        break;
    }
    const std::uint64_t payload = shard.scanner.payload(), size = shard.scanner.size();
    if (size > max_member_) {
      return too_large("this record", size, max_member_)
          .in_file(shard.stream->name())
          .at_offset(std::int64_t(shard.scanner.start()))
          .of_sample(std::to_string(shard.records++));
    }
    const std::size_t wanted = std::size_t(size) + kFooterBytes;
    const auto bytes = shard.window.at(payload, wanted);
    if (!bytes) return end_with(bytes.error());
    if (bytes->size() < wanted) return cut();
    if (verify_ && !is_sound(bytes->first(std::size_t(size)), bytes->last(kFooterBytes))) {
      ++findings_.checksums;
      return bad(Trouble::checksum);
    }
    const Window::View view = shard.window.view(payload, wanted);
    ++shard.records;
    into.key = {};
    into.fields.clear();
    into.fields.push_back({"data", FieldKind::bytes, bytes->first(std::size_t(size)), 0});
    into.memory = *view.memory;
    return true;
  }

  Error bad(Trouble trouble) {
    const Scanner& scanner = shard_->scanner;
    return error_of(trouble, scanner.start(), scanner.position() - scanner.start(),
                    std::to_string(shard_->records++), shard_->stream->name());
  }

  Error cut() {
    ++findings_.cut;
    Error error = bad(Trouble::cut);
    shard_.reset();
    return error;
  }

  // The file cannot be read on.
  Error end_with(Error error) {
    error.of_sample(std::to_string(shard_->records)).in_file(shard_->stream->name());
    shard_.reset();
    return error;
  }

  storage::StreamQueue paths_;
  std::unique_ptr<Stream> memory_;  // in place of files
  BufferPool* pool_;
  std::uint64_t max_member_;
  bool verify_;
  std::unique_ptr<Shard> shard_;
  Findings findings_;
};

}  // namespace

std::unique_ptr<RecordStream> stream_shards(std::vector<std::string> paths, BufferPool& pool,
                                            const OpenOptions& options) {
  return std::make_unique<TFRecordStream>(std::move(paths), pool, options);
}

std::unique_ptr<RecordStream> stream_memory(std::span<const std::byte> bytes, BufferPool& pool,
                                            const OpenOptions& options) {
  return std::make_unique<TFRecordStream>(bytes, pool, options);
}

}  // namespace penstock::formats::tfrecord

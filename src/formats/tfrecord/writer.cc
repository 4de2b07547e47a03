#include "formats/tfrecord/writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "formats/tfrecord/frame.h"
#include "storage/file.h"

namespace penstock::formats::tfrecord {
namespace {

constexpr std::size_t kBuffer = std::size_t(256) << 10;

// Bytes into a file of another name, which is renamed in the end.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)) {
    static std::atomic<unsigned> count = 0;
    unfinished_ = path_ + "." + std::to_string(::getpid()) + "." +
                  std::to_string(count.fetch_add(1)) + ".tmp";
    buffer_.reserve(kBuffer);
  }
  ~NewFile() {
    if (file_) ::unlink(unfinished_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  Status open() {
    file_ = storage::open_descriptor(unfinished_, O_WRONLY | O_CREAT | O_EXCL, 0666);
    return file_ ? Status() : storage::system_error(errno, "write", path_);
  }
  Status put(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() <= kBuffer) {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
      return {};
    }
    if (Status status = flush(); !status) return status;
    if (bytes.size() < kBuffer) return put(bytes);
    return write_all(bytes);
  }
  Status close() {
    if (Status status = flush(); !status) return status;
    if (::rename(unfinished_.c_str(), path_.c_str()) != 0) {
      return storage::system_error(errno, "rename", path_);
    }
    file_ = storage::Descriptor();
    return {};
  }
  const std::string& path() const noexcept { return path_; }

 private:
  Status flush() {
    Status status = write_all(buffer_);
    buffer_.clear();
    return status;
  }
  Status write_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::write(file_.get(), bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return storage::system_error(errno, "write", path_);
      bytes = bytes.subspan(std::size_t(count));
    }
    return {};
  }

  std::string path_, unfinished_;
  storage::Descriptor file_;
  std::vector<std::byte> buffer_;
};

// Bytes through deflate, if they are to be compressed.
class PackedFile {
 public:
  PackedFile(std::string path, Packing packing) : file_(std::move(path)), packing_(packing) {}
  ~PackedFile() {
    if (deflating_) ::deflateEnd(&state_);
  }
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  Status open() {
    if (packing_ != Packing::none) {
      const int bits = packing_ == Packing::gzip ? 16 + MAX_WBITS : MAX_WBITS;
      deflating_ = ::deflateInit2(&state_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits, 8,
                                  Z_DEFAULT_STRATEGY) == Z_OK;
      if (!deflating_) return Error(Code::out_of_memory, "no memory to compress with");
      output_.resize(kBuffer);
    }
    return file_.open();
  }
  Status put(std::span<const std::byte> bytes) {
    return deflating_ ? pack(bytes, Z_NO_FLUSH) : file_.put(bytes);
  }
  Status close() {
    if (deflating_) {
      if (Status status = pack({}, Z_FINISH); !status) return status;
    }
    return file_.close();
  }
  const std::string& path() const noexcept { return file_.path(); }

 private:
  Status pack(std::span<const std::byte> bytes, int flush) {
    do {
      const auto some = bytes.first(std::min<std::size_t>(bytes.size(), std::size_t(1) << 30));
      bytes = bytes.subspan(some.size());
      state_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(some.data()));
      state_.avail_in = uInt(some.size());
      do {
        state_.next_out = reinterpret_cast<Bytef*>(output_.data());
        state_.avail_out = uInt(output_.size());
        (void)::deflate(&state_, bytes.empty() ? flush : Z_NO_FLUSH);
        Status status = file_.put(std::span(output_).first(output_.size() - state_.avail_out));
        if (!status) return status;
      } while (state_.avail_out == 0);
    } while (!bytes.empty());
    return {};
  }

  NewFile file_;
  Packing packing_;
  z_stream state_{};
  bool deflating_ = false;
  std::vector<std::byte> output_;
};

class FileWriter final : public Writer {
 public:
  FileWriter(std::string path, Packing packing) : file_(std::in_place, std::move(path), packing) {}

  Status open() { return file_->open(); }

  Status write(std::span<const std::byte> record) override {
    if (failure_) return *failure_;
    if (!file_) return Error(Code::closed, "this TFRecord writer is closed");
    std::byte header[kHeaderBytes], footer[kFooterBytes];
    const std::uint64_t length = record.size();
    std::memcpy(header, &length, 8);
    const std::uint32_t length_crc = masked(crc32c({header, 8})), crc = masked(crc32c(record));
    std::memcpy(header + 8, &length_crc, 4);
    std::memcpy(footer, &crc, 4);
    for (const std::span<const std::byte> part :
         {std::span<const std::byte>(header), record, std::span<const std::byte>(footer)}) {
      if (Status status = file_->put(part); !status) return fail(std::move(status).error());
    }
    return {};
  }

  Status close() override {
    if (failure_) return *failure_;
    if (!file_) return {};
    if (Status status = file_->close(); !status) return fail(std::move(status).error());
    file_.reset();
    return {};
  }

 private:
  // What was written so far is not a file that could be read.
  Error fail(Error error) {
    failure_ = error;
    file_.reset();
    return error;
  }

  std::optional<PackedFile> file_;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::unique_ptr<Writer>> Writer::create(std::string path, Packing packing) {
  auto writer = std::make_unique<FileWriter>(std::move(path), packing);
  if (Status status = writer->open(); !status) return std::move(status).error();
  return std::unique_ptr<Writer>(std::move(writer));
}

}  // namespace penstock::formats::tfrecord

// Windows of token files as records; see tokens.h.
//
// Thread safety: never changes; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/tokens/tokens.h"
#include "storage/open_files.h"
#include "storage/source.h"

namespace penstock::formats::tokens {

// One file: mapped, or read as needed if it is far away.
struct File {
  std::string name;
  storage::Stamp stamp;
  std::uint64_t tokens = 0;
  Buffer map;
  std::shared_ptr<const storage::Source> source;
};

class Windows final : public Records {
 public:
  Windows(Options options, std::vector<File> files);

  std::uint64_t size() const noexcept override { return firsts_.back(); }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override;
  void read_many(std::span<const std::uint64_t> indices, BufferPool& pool, std::span<Record> into,
                 std::span<Status> outcomes) const override;
  bool from_afar() const noexcept override;
  std::unique_ptr<Fetch> fetch(std::span<const std::uint64_t> indices) const override;
  bool on_disk() const noexcept override { return !from_afar(); }
  bool in_memory() const noexcept override;
  void tell_places(std::span<const std::uint64_t> indices,
                   storage::ReadAhead& ahead) const override;
  void advise(Access access) const noexcept override { in_order_ = access == Access::sequential; }
  std::vector<Placeable> placeable() const override;  // none of what comes from afar
  void read_placed(std::span<const std::uint64_t> indices, std::span<const std::uint32_t> slots,
                   std::span<const Placement> placements, BufferPool& pool, std::span<Record> into,
                   std::vector<Failure>& failures) const override;
  std::string name(std::uint64_t index) const override;
  std::uint64_t bytes(std::uint64_t index) const noexcept override;
  std::uint64_t largest() const noexcept override { return options_.window * item_; }
  std::uint64_t mean_bytes() const noexcept override { return options_.window * item_; }
  std::uint64_t digest() const noexcept override { return digest_; }
  Findings findings() const noexcept override { return {}; }

 private:
  // A stretch that windows are cut from: a document, or a whole file.
  struct Stretch {
    std::uint32_t file = 0;
    std::uint64_t start = 0, size = 0;  // tokens
  };
  struct Place {
    std::size_t stretch = 0;
    std::uint32_t file = 0;
    std::uint64_t token = 0, tokens = 0;
  };
  class WindowFetch;
  // Files that were looked at in the same breath, and whether they are as long as they were.
  using Looked = std::vector<std::pair<std::uint32_t, Status>>;

  bool by_document() const noexcept { return !options_.documents.empty(); }
  void add(const Stretch& stretch);
  Place find(std::uint64_t index) const noexcept;
  Error beyond(std::uint64_t index) const;
  std::span<const std::byte> mapped(const Place& place) const noexcept;
  Status still_whole(std::uint32_t file, Looked& looked) const;
  Result<Buffer> read_source(const Place& place, BufferPool& pool) const;
  void add_document(const Place& place, Record& into) const;
  Status read(std::uint64_t index, BufferPool& pool, Record& into, Looked& looked) const;
  void place_tokens(std::span<const Place> places, std::span<const std::uint32_t> slots,
                    std::int64_t* to, BufferPool& pool, std::span<Status> outcomes) const;

  Options options_;
  std::vector<File> files_;
  storage::OpenFiles open_;  // the same
  std::size_t item_;
  std::vector<std::string> fields_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> firsts_{0};  // stretch s has windows firsts_[s] to firsts_[s + 1] - 1
  std::uint64_t digest_ = 0;
  mutable std::atomic<bool> in_order_ = false;  // then the system reads ahead by itself
};

}  // namespace penstock::formats::tokens

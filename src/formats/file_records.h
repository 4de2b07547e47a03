// FileRecords: Records of which each is a whole file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/records.h"

namespace penstock::formats {

// Many names in one piece of memory.
class NameList {
 public:
  void add(std::string_view name) {
    text_ += name;
    ends_.push_back(text_.size());
  }
  std::size_t size() const noexcept { return ends_.size() - 1; }
  std::string_view operator[](std::size_t i) const noexcept {
    return std::string_view(text_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_{0};
};

class FileRecords final : public Records {
 public:
  struct Files {
    std::string root;  // put before every name to open it
    NameList names;
    std::vector<std::uint64_t> sizes;  // one per name, when it was listed
    std::vector<std::uint64_t>
        class_end;  // class c has the files before class_end[c]; may be empty
    std::uint64_t digest = 0;
    Findings findings;
  };
  // `wanted`: fields to give; empty: all.
  static Result<std::shared_ptr<const Records>> over(Files files,
                                                     const std::vector<std::string>& wanted,
                                                     std::uint64_t max_member);

  std::uint64_t size() const noexcept override { return files_.names.size(); }
  const std::vector<std::string>& fields() const noexcept override { return fields_; }
  Status read(std::uint64_t index, BufferPool& pool, Record& into) const override;
  std::string name(std::uint64_t index) const override;
  std::uint64_t bytes(std::uint64_t index) const noexcept override;
  std::uint64_t largest() const noexcept override { return largest_; }
  std::uint64_t mean_bytes() const noexcept override { return mean_; }
  std::uint64_t digest() const noexcept override { return files_.digest; }
  bool on_disk() const noexcept override { return image_; }
  void tell_places(std::span<const std::uint64_t> indices,
                   storage::ReadAhead& ahead) const override;
  Findings findings() const noexcept override { return files_.findings; }

 private:
  explicit FileRecords(Files files) : files_(std::move(files)) {}
  bool wants(std::string_view field) const noexcept;

  Files files_;
  std::vector<std::string> fields_;
  bool image_ = false, label_ = false, path_ = false;
  std::uint64_t max_member_ = 0, largest_ = 0, mean_ = 1;
};

}  // namespace penstock::formats

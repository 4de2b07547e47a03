// A source that counts how often it is asked.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/source.h"

namespace penstock::storage {

// Bytes that tell their offset, and how they were asked for.
class Counting final : public Source {
 public:
  explicit Counting(std::size_t size) : bytes_(size) {
    for (std::size_t i = 0; i < size; ++i) bytes_[i] = at(i);
    source_ = source_over(bytes_, "counting");
  }
  static std::byte at(std::uint64_t offset) {
    return std::byte((offset * 2654435761U >> 7) & 0xff);
  }
  const std::string& name() const noexcept override { return source_->name(); }
  Stamp stamp() const noexcept override { return source_->stamp(); }
  Status read(std::uint64_t offset, std::span<std::byte> into) const override {
    ++reads;
    if (broken) return Error(Code::io, "broken");
    return source_->read(offset, into);
  }

  mutable int reads = 0;
  bool broken = false;

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<const Source> source_;
};

inline void expect_bytes(const Source& source, std::uint64_t offset, std::size_t size) {
  std::vector<std::byte> got(size);
  const Status status = source.read(offset, got);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(got[i], Counting::at(offset + i)) << i;
}

}  // namespace penstock::storage

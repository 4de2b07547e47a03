#include "formats/window.h"

#include <algorithm>
#include <cstring>

namespace penstock::formats {
namespace {

constexpr std::uint64_t kReadThrough = 4 << 10;  // less than this is read, not skipped

}  // namespace

Result<std::span<const std::byte>> Window::load(std::uint64_t offset, std::size_t size) {
  if (offset < block_.base) {
    if (const View found = view(offset, size); found.memory != nullptr) {
      return std::span<const std::byte>(found.bytes);
    }
    return Error(Code::internal, "a window was moved back");
  }
  const std::uint64_t end = offset + size;
  if (!ended_ && end > block_.end()) {
    if (offset > block_.end() + kReadThrough) pass_over(block_.end(), offset);
    if (block_.end() < passed_) {
      if (failure_) return *failure_;
      if (Status status = stream_->skip(passed_ - block_.end()); !status) {
        failure_ = status.error();
        return *failure_;
      }
      if (!block_.memory.unique()) block_.memory = Buffer();
      block_.base = passed_;
      block_.filled = 0;
      step_ = 0;
    }
    first_ =
        std::max(first_, std::size_t(std::min<std::uint64_t>(end - block_.base, kLargestFirst)));
    if (Status status = make_room(end); !status) return status.error();
    if (Status status = fill(end); !status) return status.error();
  }
  const std::uint64_t last = std::min(end, block_.end());
  if (last <= offset) return std::span<const std::byte>();
  return std::span<const std::byte>(block_.memory.data() + (offset - block_.base),
                                    std::size_t(last - offset));
}

Result<std::size_t> Window::read_past(std::uint64_t offset, std::span<std::byte> into) {
  const auto there = [&] { return std::size_t(block_.end() - std::min(offset, block_.end())); };
  if (block_.end() < std::max(offset, passed_)) {  // brings the window to `offset`
    if (const auto reached = at(offset, 1); !reached) return reached.error();
  }
  std::size_t done = std::min(there(), into.size());
  if (done > 0) std::memcpy(into.data(), block_.memory.data() + (offset - block_.base), done);
  if (done == into.size()) return done;
  pass_over(offset, offset + done);
  while (done < into.size() && !ended_) {
    if (failure_) return *failure_;
    const Result<std::size_t> count = stream_->read(into.subspan(done));
    if (!count) {
      failure_ = count.error();
      return *failure_;
    }
    done += *count;
    ended_ = *count == 0;
  }
  if (!block_.memory.unique()) block_.memory = Buffer();
  block_.base = passed_ = offset + done;
  block_.filled = 0;
  step_ = 0;
  return done;
}

void Window::pass_over(std::uint64_t from, std::uint64_t to) {
  // What is kept is set aside. The block is filled on, then goes its own way.
  if (std::max(kept_, passed_) < std::min(from, block_.end())) older_.push_back(block_);
  passed_ = std::max(passed_, to);
}

// Sees to it that the block reaches `end`; drops what is not needed.
Status Window::make_room(std::uint64_t end) {
  if (block_.memory && end - block_.base <= block_.memory.size()) return {};
  const std::uint64_t from = std::clamp(std::max(kept_, passed_), block_.base, block_.end());
  const auto dropped = std::size_t(from - block_.base);
  const std::size_t left = block_.filled - dropped;
  const std::uint64_t needed = end - from;
  if (block_.memory && block_.memory.unique() && needed <= block_.memory.size()) {
    if (left > 0) std::memmove(block_.memory.data(), block_.memory.data() + dropped, left);
  } else {
    Result<Buffer> memory =
        pool_->allocate(std::size_t(std::max<std::uint64_t>(needed, block_size_)));
    if (!memory) return std::move(memory).error();
    if (left > 0) std::memcpy(memory->data(), block_.memory.data() + dropped, left);
    block_.memory = *std::move(memory);
  }
  block_.base = from;
  block_.filled = left;
  return {};
}

Status Window::fill(std::uint64_t end) {
  while (block_.end() < end && !ended_) {
    if (failure_) return *failure_;
    const std::size_t missing = std::size_t(end - block_.end());
    std::size_t wanted = block_.memory.size() - block_.filled;
    step_ = std::clamp(step_ * 2, first_, block_size_);
    wanted = std::min(wanted, std::max(step_, missing));
    const Result<std::size_t> count =
        stream_->read(block_.memory.bytes().subspan(block_.filled, wanted));
    if (!count) {
      failure_ = count.error();
      return *failure_;
    }
    block_.filled += *count;
    ended_ = *count == 0;
  }
  return {};
}

Window::View Window::view(std::uint64_t offset, std::uint64_t size) const noexcept {
  const auto in = [&](const Block& block) -> View {
    if (offset < block.base || offset + size > block.end()) return {};
    return {block.memory.bytes().subspan(std::size_t(offset - block.base), std::size_t(size)),
            &block.memory};
  };
  if (const View found = in(block_); found.memory != nullptr) return found;
  for (const Block& block : older_) {
    if (const View found = in(block); found.memory != nullptr) return found;
  }
  return {};
}

void Window::forget() noexcept {
  std::erase_if(older_, [this](const Block& block) { return block.end() <= kept_; });
}

}  // namespace penstock::formats

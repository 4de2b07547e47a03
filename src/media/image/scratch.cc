#include "media/image/scratch.h"

#include <array>
#include <new>

namespace penstock::media {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::align_val_t kAligned{kAlignment};

struct Block {
  std::uint8_t* data = nullptr;
  std::size_t size = 0;

  void release() {
    ::operator delete(data, kAligned);
    data = nullptr;
    size = 0;
  }
  ~Block() { release(); }
};

thread_local std::array<Block, std::size_t(ScratchUse::count)> blocks;

}  // namespace

ScratchLease::ScratchLease(ScratchUse use, std::size_t size) noexcept : data_(nullptr), use_(use) {
  Block& block = blocks[std::size_t(use)];
  if (block.size < size || block.data == nullptr) {
    const std::size_t wanted = (size + 2 * kAlignment - 1) / kAlignment * kAlignment;
    if (wanted < size) return;
    block.release();
    block.data = static_cast<std::uint8_t*>(::operator new(wanted, kAligned, std::nothrow));
    if (block.data == nullptr) return;
    block.size = wanted - kAlignment;
  }
  data_ = block.data;
}

ScratchLease::~ScratchLease() {
  Block& block = blocks[std::size_t(use_)];
  if (block.size > kKeepBytes) block.release();
}

}  // namespace penstock::media

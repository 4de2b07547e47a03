// Buffers that belong to no pool: memory of their own, and memory owned by others.
#include "penstock/buffer.h"

#include <new>
#include <string>

#include "core/pool_state.h"
#include "core/size_class.h"

namespace penstock {
namespace detail {
namespace {

struct ForeignBlock : Block {
  std::function<void()> release;
};

ForeignBlock* wrap(void* data, std::size_t size, bool read_only, std::function<void()> release) {
  auto* block = new ForeignBlock;
  block->read_only = read_only;
  block->data = static_cast<std::byte*>(data);
  block->size = size;
  block->release = std::move(release);
  return block;
}

}  // namespace

void release(Block* block) noexcept {
  if (block->pooled) {
    auto* pooled = static_cast<PooledBlock*>(block);
    pooled->pool->take_back(pooled);
    return;
  }
  auto* foreign = static_cast<ForeignBlock*>(block);
  if (foreign->release) foreign->release();
  delete foreign;
}

}  // namespace detail

Result<Buffer> Buffer::allocate(std::size_t size) {
  if (size > detail::kLargestBlock) {
    return Error(Code::out_of_memory, "a buffer of " + std::to_string(size) + " bytes");
  }
  const std::size_t rounded =
      size == 0 ? detail::kUnit : (size + detail::kUnit - 1) / detail::kUnit * detail::kUnit;
  const auto source = host_memory();
  void* memory = source->allocate(rounded);
  if (memory == nullptr) {
    return Error(Code::out_of_memory,
                 "the system has no " + std::to_string(size) + " bytes for a buffer");
  }
  return wrap(memory, size, [source, memory, rounded] { source->free(memory, rounded); });
}

Buffer Buffer::wrap(void* data, std::size_t size, std::function<void()> release) {
  return Buffer(detail::wrap(data, size, false, std::move(release)));
}

Buffer Buffer::wrap_read_only(const void* data, std::size_t size, std::function<void()> release) {
  return Buffer(detail::wrap(const_cast<void*>(data), size, true, std::move(release)));
}

void Buffer::give_to_user() const noexcept {
  give_to_user(std::span(this, 1));
}

void Buffer::give_to_user(std::span<const Buffer> buffers) noexcept {
  const auto pool_of = [](const Buffer& buffer) -> detail::PoolState* {
    if (buffer.block_ == nullptr || !buffer.block_->pooled) return nullptr;
    return static_cast<const detail::PooledBlock*>(buffer.block_)->pool;
  };
  for (std::size_t first = 0; first < buffers.size();) {
    detail::PoolState* pool = pool_of(buffers[first]);
    std::size_t behind = first + 1;
    while (behind < buffers.size() && pool_of(buffers[behind]) == pool) ++behind;
    if (pool != nullptr) pool->give_to_user(buffers.subspan(first, behind - first));
    first = behind;
  }
}

}  // namespace penstock

#include "formats/chunked/chain.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "formats/chunked/array.h"

namespace penstock::formats::chunked {
namespace {

Error wrong_size(std::size_t got, std::size_t wanted) {
  return Error(Code::corrupt, "the chunk is damaged: it unpacks to " + std::to_string(got) +
                                  " bytes instead of " + std::to_string(wanted));
}

// Undoes the transposition.
Result<Buffer> reorder(const Buffer& packed, const std::vector<std::size_t>& order,
                       std::size_t item, std::span<const std::uint64_t> shape, BufferPool& pool) {
  Extents stored(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) stored[i] = shape[order[i]];
  const std::vector<std::ptrdiff_t> there = dense_strides(stored, item);
  std::vector<std::ptrdiff_t> from(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) from[order[i]] = there[i];
  Result<Buffer> chunk = pool.allocate(packed.size());
  if (!chunk) return chunk;
  copy_elements(chunk->data(), dense_strides(shape, item), packed.data(), from, shape, item);
  return chunk;
}

}  // namespace

Result<Buffer> Chain::decode(std::span<const std::byte> packed, std::uint32_t skipped,
                             const Element& element, std::span<const std::uint64_t> shape,
                             BufferPool& pool) const {
  std::size_t size = element.bytes;
  for (const std::uint64_t extent : shape) size *= std::size_t(extent);
  // sizes[k]: of what codec k was given when the chunk was written.
  std::vector<std::optional<std::size_t>> sizes{size};
  std::vector<const Codec*> used;
  for (std::size_t k = 0; k < codecs.size(); ++k) {
    if (k < 32 && (skipped >> k & 1) != 0) continue;
    used.push_back(codecs[k].get());
    sizes.push_back(sizes.back() ? codecs[k]->packed_size(*sizes.back()) : std::nullopt);
  }
  Buffer held;  // what `packed` lies in from the second step on
  for (std::size_t k = used.size(); k-- > 0;) {
    const std::size_t room = sizes[k].value_or(2 * size + (std::size_t(64) << 10));
    Result<Buffer> made = pool.allocate(std::max<std::size_t>(room, 1));
    if (!made) return made;
    Result<std::size_t> count = used[k]->decode(packed, made->bytes().first(room));
    if (!count) return std::move(count).error();
    if (sizes[k] && *count != *sizes[k]) return wrong_size(*count, *sizes[k]);
    held = *std::move(made);
    packed = held.bytes().first(*count);
  }
  if (packed.size() != size) return wrong_size(packed.size(), size);
  if (!held) {
    Result<Buffer> copy = pool.allocate(std::max<std::size_t>(size, 1));
    if (!copy) return copy;
    std::memcpy(copy->data(), packed.data(), size);
    held = *std::move(copy);
  }
  if (!order.empty()) {
    Result<Buffer> chunk = reorder(held, order, element.bytes, shape, pool);
    if (!chunk) return chunk;
    held = *std::move(chunk);
  }
  settle(held.bytes().first(size), element);
  return held;
}

std::string Chain::to_string() const {
  std::string all = order.empty() ? "" : "transpose";
  for (const CodecPtr& codec : codecs) all += (all.empty() ? "" : ", ") + codec->name();
  return all.empty() ? "none" : all;
}

}  // namespace penstock::formats::chunked

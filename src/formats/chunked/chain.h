// Chain: all codecs of an array, in the order in which they were used to write it.
//
// Thread safety: immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/chunked/codec.h"
#include "formats/chunked/element.h"
#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::formats::chunked {

struct Chain {
  // Dimension i of what was packed is dimension order[i] of the chunk; empty: they are the same.
  std::vector<std::size_t> order;
  std::vector<CodecPtr> codecs;

  // A chunk of this shape, its elements as this machine has them, in C order. `skipped`: codecs
  // that were not used, by bit. Memory is taken from `pool`.
  Result<Buffer> decode(std::span<const std::byte> packed, std::uint32_t skipped,
                        const Element& element, std::span<const std::uint64_t> shape,
                        BufferPool& pool) const;

  std::string to_string() const;  // "transpose, shuffle, zlib"; "none"
};

}  // namespace penstock::formats::chunked

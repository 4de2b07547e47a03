// Token files: flat binary files of one integer type, read as windows.
//
// A record is a window: field "tokens", the window's bytes as they lie in the file. Without
// documents windows begin at 0, stride, 2 * stride, ... of each file, and only whole ones count.
// With documents no window goes beyond the end of one: each begins at its first token, the last
// window of a document may be shorter, and a record has fields "length" (its tokens) and "document"
// (its number) too. Straight into a batch tokens go as int64, shorter windows filled up.
//
// Local files are mapped. One that becomes shorter is an Error of what is placed; records are views
// of the map, to be looked at with care (storage/fault_guard.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/records.h"
#include "penstock/dtype.h"
#include "penstock/error.h"

namespace penstock::formats::tokens {

struct Options {
  DType dtype = DType::uint16;  // or uint32, int32
  std::uint64_t window = 0;     // tokens
  std::uint64_t stride = 0;     // 0: that of the window
  // For each file the tokens at which documents begin, ascending from 0; empty: no documents.
  std::vector<std::vector<std::uint64_t>> documents;
  std::int64_t pad = 0;  // what fills up shorter windows, where they are placed
};

// `paths` are files, without patterns. Fails with corrupt if a file is no whole number of tokens,
// or if documents lie outside it.
Result<std::shared_ptr<const Records>> open(const std::vector<std::string>& paths, Options options);

}  // namespace penstock::formats::tokens

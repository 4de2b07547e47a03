// Where results that users get have their memory: a block is used again once nobody holds it, which
// saves the system's work of clearing fresh pages.
//
// Thread safety: any thread.
#pragma once

#include "penstock/buffer.h"

namespace penstock::media {

inline BufferPool& result_pool() {
  static BufferPool all;
  return all;
}

}  // namespace penstock::media

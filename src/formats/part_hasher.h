// PartHasher: XXH3 of a stretch of a window, however long it is.
#pragma once

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "formats/window.h"
#include "penstock/error.h"

namespace penstock::formats {

class PartHasher {
 public:
  // Of bytes [offset, offset + size), fewer at the end of the stream. Lets go of them on the way.
  Result<std::uint64_t> hash(Window& window, std::uint64_t offset, std::uint64_t size) {
    ::XXH3_64bits_reset(state_.get());
    for (std::uint64_t done = 0; done < size;) {
      window.keep_from(offset + done);
      const auto bytes = window.at(
          offset + done, std::size_t(std::min<std::uint64_t>(size - done, std::uint64_t(1) << 20)));
      if (!bytes) return bytes.error();
      if (bytes->empty()) break;
      ::XXH3_64bits_update(state_.get(), bytes->data(), bytes->size());
      done += bytes->size();
    }
    return ::XXH3_64bits_digest(state_.get());
  }

 private:
  struct Free {
    void operator()(::XXH3_state_t* state) const noexcept { ::XXH3_freeState(state); }
  };
  std::unique_ptr<::XXH3_state_t, Free> state_{::XXH3_createState()};
};

}  // namespace penstock::formats

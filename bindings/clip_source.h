// What a clip is read from, as Python gives it: a name, or an object whose memory is borrowed for
// as long as the clip is open.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "borrowed.h"
#include "storage/source.h"

namespace penstock::bindings {

// Made and destroyed under the GIL.
class ClipSource {
 public:
  explicit ClipSource(nanobind::handle source) {
    if (nanobind::try_cast(source, name_)) return;
    memory_.emplace(source, PyBUF_SIMPLE);
  }

  // Without the GIL.
  Result<std::shared_ptr<const storage::Source>> open() const {
    if (memory_) return storage::source_over(memory_->bytes(), "");
    return storage::open_source(name_);
  }

 private:
  std::string name_;
  std::optional<BorrowedBytes> memory_;
};

}  // namespace penstock::bindings

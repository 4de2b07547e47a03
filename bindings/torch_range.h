// A range in PyTorch's profiler around the consumer's wait, if torch is loaded and a profiler runs.
// With the GIL held at both ends. What goes wrong in here is nobody's concern.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

class TorchRange {
 public:
  TorchRange() noexcept;
  ~TorchRange();
  TorchRange(const TorchRange&) = delete;
  TorchRange& operator=(const TorchRange&) = delete;

 private:
  PyObject* range_ = nullptr;
};

}  // namespace penstock::bindings

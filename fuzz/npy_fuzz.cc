// Any bytes as a .npy file: what is accepted lies inside them.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/npy/load.h"
#include "storage/source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto bytes = std::as_bytes(std::span(data, size));
  BufferPool pool(std::size_t(64) << 20);
  const Result<formats::npy::Array> array =
      formats::npy::load(*storage::source_over(bytes, "fuzz"), pool);
  if (!array || !array->header.dtype) return 0;
  const Result<Tensor> tensor = array->tensor();
  if (!tensor) return 0;
  const Result<Tensor> dense = tensor->clone();
  [[maybe_unused]] static volatile unsigned sink;
  unsigned sum = 0;
  if (dense) {
    for (std::size_t i = 0; i < dense->nbytes(); ++i) sum += unsigned(dense->raw()[i]);
  }
  sink = sum;
  return 0;
}

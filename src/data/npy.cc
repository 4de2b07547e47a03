#include "data/steps.h"
#include "formats/npy/load.h"

namespace penstock::data {

Result<Tensor> parse_npy(const Bytes& file) {
  const auto keep = std::make_shared<Bytes>(file);
  Buffer memory =
      Buffer::wrap_read_only(file.bytes.data(), file.bytes.size(), [keep] { (void)keep; });
  const Result<formats::npy::Array> array = formats::npy::over(file.bytes, std::move(memory));
  if (!array) return array.error();
  return array->tensor();
}

}  // namespace penstock::data

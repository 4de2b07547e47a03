#include "data/batch_size.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <limits>
#include <string>

namespace penstock::data {
namespace {

// Main memory and swap, in bytes.
std::uint64_t all_memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return std::numeric_limits<std::uint64_t>::max();
  return (std::uint64_t(info.totalram) + info.totalswap) * info.mem_unit;
}

std::string gigabytes(std::uint64_t bytes) {
  constexpr std::uint64_t kGigabyte = std::uint64_t(1) << 30;
  const std::uint64_t tenths = bytes / (kGigabyte / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB";
}

// What a row takes at least. Rows of a stream are objects of another language: a pointer each.
std::uint64_t least_bytes(const LoaderPlan& plan, bool streamed) {
  if (streamed) return sizeof(void*);
  std::uint64_t bytes = sizeof(BatchRow) + plan.order.width() * sizeof(Place) + plan.row_bytes;
  for (const SlotArray& slot : plan.slots) {
    std::uint64_t row = size_of(slot.dtype);
    for (const std::int64_t extent : slot.shape) row *= static_cast<std::uint64_t>(extent);
    bytes += row;
  }
  return bytes;
}

}  // namespace

Error no_memory_for_batch(std::uint64_t rows, std::uint64_t bytes) {
  std::string what = "batch: there is no memory for a batch of " + std::to_string(rows) + " rows";
  if (bytes > 0) {
    what += ": it takes at least " + gigabytes(bytes) + ", and this machine has " +
            gigabytes(all_memory());
  }
  return Error(Code::out_of_memory, what + "; give batch a smaller size");
}

Status check_batch(const LoaderPlan& plan, const RunOptions& options) {
  const bool streamed = static_cast<bool>(options.stream);
  std::uint64_t rows = options.share.batch;
  std::uint64_t each = least_bytes(plan, streamed), bytes = 0;
  bool huge = false;
  if (streamed) {  // every rank reads the rows of all
    huge = __builtin_mul_overflow(each, options.share.world, &each);
  } else if (const auto left = Rounds(options.share, plan.order.length(), options.start).rows()) {
    rows = std::min(rows, *left);
  }
  if (huge || __builtin_mul_overflow(rows, each, &bytes)) return no_memory_for_batch(rows, 0);
  if (bytes > all_memory()) return no_memory_for_batch(rows, bytes);
  return {};
}

}  // namespace penstock::data

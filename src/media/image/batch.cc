#include "media/image/batch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "core/together.h"
#include "media/image/slot.h"

namespace penstock::media {

void decode_batch(std::span<const Bytes> files, const DecodeOptions& options,
                  std::span<const CropRequest> requests, const FinishSpec& finish, std::byte* slots,
                  std::span<Status> outcomes, int threads, const RandomKey& key,
                  std::uint64_t position) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < files.size();) {
      RequestPlanner planner(requests[i], RandomStream(key, position + i));
      std::byte* slot = slots + i * finish.bytes();
      try {
        outcomes[i] = decode_into_slot(files[i], options, planner, finish, slot);
      } catch (const std::bad_alloc&) {
        outcomes[i] = Error(Code::out_of_memory, "no memory to decode the image");
      }
      if (!outcomes[i]) std::memset(slot, 0, finish.bytes());
    }
  };
  const std::size_t most = std::max<std::size_t>(files.size(), 1);
  detail::work_together(std::min(std::size_t(std::max(threads, 1)), most) - 1, work);
}

}  // namespace penstock::media

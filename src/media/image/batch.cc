#include "media/image/batch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "media/image/slot.h"

namespace penstock::media {

std::vector<Status> decode_batch(std::span<const Bytes> files, const DecodeOptions& options,
                                 std::span<const CropRequest> requests, const FinishSpec& finish,
                                 std::byte* slots, int threads, const RandomKey& key,
                                 std::uint64_t position) {
  std::vector<Status> outcomes(files.size());
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
  const std::size_t helpers =
      std::min(std::size_t(std::max(threads, 1)), std::max<std::size_t>(files.size(), 1)) - 1;
  std::vector<std::jthread> pool;
  try {
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(work);
  } catch (const std::system_error&) {
    // Fewer threads than asked for: the ones there are do the work.
  }
  work();
  pool.clear();
  return outcomes;
}

}  // namespace penstock::media

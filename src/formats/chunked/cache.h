// ChunkCache: chunks that were unpacked, kept as long as they fit in a budget of bytes.
//
// A chunk that several threads want is unpacked by one of them. The others wait for it; if chunks
// are being read one after the other, they unpack the next ones meanwhile. So two threads that walk
// through an array keep two cores busy, and nothing is read ahead that nobody waits for.
//
// Thread safety: every member may be called from any thread at any time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "penstock/buffer.h"
#include "penstock/error.h"

namespace penstock::formats::chunked {

// An unpacked chunk; without memory if all of it is the fill value.
using Chunk = Buffer;

class ChunkCache {
 public:
  // Unpacks chunk `chunk` of array `array`. Called without a lock, from any thread.
  using Load = std::function<Result<Chunk>(std::size_t array, std::uint64_t chunk)>;

  // `budget` in bytes. The chunk that was unpacked last stays, however large it is. `counts`: how
  // many chunks each array has.
  ChunkCache(std::uint64_t budget, std::vector<std::uint64_t> counts, Load load);

  Result<Chunk> get(std::size_t array, std::uint64_t chunk) const;
  bool contains(std::size_t array, std::uint64_t chunk) const;  // or is it being unpacked?

  void set_budget(std::uint64_t budget) const;
  std::uint64_t budget() const;
  std::uint64_t used() const;    // bytes
  std::uint64_t loaded() const;  // chunks that were unpacked so far
  // How many chunks of an array were begun one behind the other, up to now.
  std::uint64_t run(std::size_t array) const;

 private:
  struct Key {
    std::size_t array;
    std::uint64_t chunk;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::size_t((key.chunk * 0x9e3779b97f4a7c15U) ^ (key.array * 0xc2b2ae3d27d4eb4fU));
    }
  };
  struct Entry {
    std::optional<Result<Chunk>> outcome;  // none: it is being unpacked
    std::list<Key>::iterator place;        // in used_last_, once it is there
  };
  // Where an array is being read.
  struct Walk {
    std::uint64_t newest = ~std::uint64_t(0);  // the chunk that was begun last
    bool forward = false;                      // was it behind its predecessor, or the first?
    std::uint64_t run = 0;                     // for how many was it so?
  };

  Result<Chunk> load(const Key& key, std::unique_lock<std::mutex>& hold) const;
  void evict(std::uint64_t room) const;

  std::vector<std::uint64_t> counts_;
  Load load_;
  mutable std::mutex mutex_;
  mutable std::condition_variable loaded_one_;
  mutable std::unordered_map<Key, std::shared_ptr<Entry>, Hash> entries_;
  mutable std::list<Key> used_last_;  // the oldest use first
  mutable std::vector<Walk> walks_;
  mutable std::uint64_t budget_, used_ = 0, count_ = 0;
};

}  // namespace penstock::formats::chunked

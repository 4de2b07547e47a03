// GlobalHeap: where an HDF5 file keeps values of varying length, texts and lists. An element is a
// reference of 16 bytes to an object in one of the heap's collections, which are scattered over the
// file. There are no checksums: so nothing is believed that does not fit the rest.
// https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html#subsec_fmt3_infra_globalheap
//
//   reference:  count (4), address of the collection (8), number of the object (4)
//   collection: "GCOL", version 1, 3 unused, size of all of it (8), then objects
//   object:     number (2), references to it (2), 4 unused, size (8), bytes up to a multiple of 8;
//               number 0 is free space, and behind it there is nothing
//
// Thread safety: any thread, as far as the source allows it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "formats/chunked/hdf5/index_file.h"

namespace penstock::formats::hdf5 {

inline constexpr std::size_t kReferenceBytes = 16;

class GlobalHeap {
 public:
  // Addresses are relative to `base`; they and lengths must be 8 bytes wide in the file. Of the
  // collections read last those are kept that fit in `budget` bytes.
  GlobalHeap(std::shared_ptr<const storage::Source> source, std::uint64_t base,
             std::uint64_t budget = std::uint64_t(4) << 20);
  ~GlobalHeap();
  GlobalHeap(const GlobalHeap&) = delete;
  GlobalHeap& operator=(const GlobalHeap&) = delete;

  // What a reference refers to: `count` items of so many bytes; nothing if it counts none, or is
  // nowhere. Fails with corrupt, and names the address.
  Status read(std::span<const std::byte, kReferenceBytes> reference, std::uint64_t item_bytes,
              Bytes& into) const;

 private:
  struct Collection;
  using CollectionPtr = std::shared_ptr<const Collection>;
  struct Kept {
    std::uint64_t address = 0;
    CollectionPtr collection;
  };

  Result<CollectionPtr> collection(std::uint64_t address) const;
  Result<CollectionPtr> parse(std::uint64_t address) const;
  CollectionPtr find(std::uint64_t address) const;
  void keep(std::uint64_t address, const CollectionPtr& collection) const;

  std::shared_ptr<const storage::Source> source_;
  IndexFile file_;
  std::uint64_t budget_;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // the last use first
  mutable std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
  mutable std::uint64_t used_ = 0;
};

}  // namespace penstock::formats::hdf5

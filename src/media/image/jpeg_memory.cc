#include "media/image/jpeg_memory.h"

#include <jerror.h>
#include <sys/mman.h>

#include <cstring>

namespace penstock::media {
namespace {

JpegMemory& memory_of(j_common_ptr info) {
  return *reinterpret_cast<JpegErrors*>(info->err)->memory;
}

}  // namespace

JpegMemory::~JpegMemory() {
  release();
}

void JpegMemory::install(jpeg_decompress_struct& decoder) {
  jpeg_memory_mgr& functions = *decoder.mem;
  library_ = functions;
  functions.alloc_small = allocate_small;
  functions.request_virt_barray = request_array;
  functions.realize_virt_arrays = make_arrays;
  functions.access_virt_barray = access_array;
  functions.free_pool = free_pool;
}

void JpegMemory::forget_tables(jpeg_decompress_struct& decoder) {
  for (JQUANT_TBL*& table : decoder.quant_tbl_ptrs) table = nullptr;
  for (JHUFF_TBL*& table : decoder.dc_huff_tbl_ptrs) table = nullptr;
  for (JHUFF_TBL*& table : decoder.ac_huff_tbl_ptrs) table = nullptr;
  quantisation_used_ = huffman_used_ = 0;
}

void* JpegMemory::allocate_small(j_common_ptr info, int pool, std::size_t size) {
  JpegMemory& self = memory_of(info);
  if (pool == JPOOL_PERMANENT && size == sizeof(JQUANT_TBL) &&
      self.quantisation_used_ < NUM_QUANT_TBLS) {
    return &self.quantisation_[self.quantisation_used_++];
  }
  if (pool == JPOOL_PERMANENT && size == sizeof(JHUFF_TBL) &&
      self.huffman_used_ < 2 * NUM_HUFF_TBLS) {
    return &self.huffman_[self.huffman_used_++];
  }
  return self.library_.alloc_small(info, pool, size);
}

jvirt_barray_ptr JpegMemory::request_array(j_common_ptr info, int, boolean, JDIMENSION row_blocks,
                                           JDIMENSION rows, JDIMENSION) {
  JpegMemory& self = memory_of(info);
  if (self.array_count_ == MAX_COMPONENTS) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  Array& array = self.arrays_[self.array_count_++];
  array = {row_blocks, rows, nullptr, 0};
  return reinterpret_cast<jvirt_barray_ptr>(&array);  // opaque to libjpeg
}

void JpegMemory::make_arrays(j_common_ptr info) {
  JpegMemory& self = memory_of(info);
  self.library_.realize_virt_arrays(info);  // those of samples
  std::size_t count = 0;
  for (int i = 0; i < self.array_count_; ++i) {
    Array& array = self.arrays_[i];
    array.row = static_cast<JBLOCKARRAY>(
        self.library_.alloc_large(info, JPOOL_IMAGE, array.rows * sizeof(JBLOCKROW)));
    count += array.row_blocks * array.rows;
  }
  if (count == 0) return;
  if (!self.reserve(count * sizeof(JBLOCK))) ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
  auto* block = static_cast<JBLOCK*>(self.pages_);
  for (int i = 0; i < self.array_count_; ++i) {
    Array& array = self.arrays_[i];
    for (std::size_t y = 0; y < array.rows; ++y, block += array.row_blocks) array.row[y] = block;
    array.zeroed = self.fresh_ ? array.rows : 0;
  }
}

JBLOCKARRAY JpegMemory::access_array(j_common_ptr info, jvirt_barray_ptr opaque, JDIMENSION first,
                                     JDIMENSION count, boolean) {
  Array& array = *reinterpret_cast<Array*>(opaque);
  if (array.row == nullptr || first > array.rows || count > array.rows - first) {
    ERREXIT(info, JERR_BAD_VIRTUAL_ACCESS);
  }
  // When they are about to be used: the cache has them then.
  for (; array.zeroed < first + count; ++array.zeroed) {
    std::memset(array.row[array.zeroed], 0, array.row_blocks * sizeof(JBLOCK));
  }
  return array.row + first;
}

void JpegMemory::free_pool(j_common_ptr info, int pool) {
  JpegMemory& self = memory_of(info);
  if (pool == JPOOL_IMAGE) {
    self.array_count_ = 0;
    if (self.pages_size_ > kKeepBytes) self.release();
  }
  self.library_.free_pool(info, pool);
}

bool JpegMemory::reserve(std::size_t size) {
  fresh_ = size > pages_size_;
  if (!fresh_) return true;
  release();
  void* made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  ::madvise(made, size, MADV_HUGEPAGE);  // a wish: fewer page faults
  pages_ = made;
  pages_size_ = size;
  return true;
}

void JpegMemory::release() {
  if (pages_ != nullptr) ::munmap(pages_, pages_size_);
  pages_ = nullptr;
  pages_size_ = 0;
}

}  // namespace penstock::media

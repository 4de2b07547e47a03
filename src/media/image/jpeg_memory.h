// JpegMemory: where libjpeg's decoder has its tables, and the coefficients of whole pictures.
//
// Tables: libjpeg keeps those for quantisation and Huffman codes from file to file, for streams
// that come without. A picture must not depend on the one before, so every file begins without any;
// its own tables then lie where those of the last one were.
//
// Coefficients: a progressive file has all of them in memory, 12 MB for 1920x1080. They are pages
// of the system, which go back with the picture; malloc would keep them, for each thread.
//
// Thread safety: one thread at a time.
#pragma once

// jpeglib.h needs FILE and size_t.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstddef>

namespace penstock::media {

class JpegMemory;

// What cinfo.err must point to: the callbacks find their JpegMemory here.
struct JpegErrors {
  jpeg_error_mgr base;
  JpegMemory* memory;
};

class JpegMemory {
 public:
  JpegMemory() = default;
  ~JpegMemory();
  JpegMemory(const JpegMemory&) = delete;
  JpegMemory& operator=(const JpegMemory&) = delete;

  // Once, after jpeg_create_decompress.
  void install(jpeg_decompress_struct& decoder);
  // Before each header.
  void forget_tables(jpeg_decompress_struct& decoder);

 private:
  struct Array {
    std::size_t row_blocks = 0, rows = 0;
    JBLOCKARRAY row = nullptr;  // null until there is memory for it
    std::size_t zeroed = 0;     // rows
  };
  static constexpr std::size_t kKeepBytes = std::size_t{2} << 20;

  static void* allocate_small(j_common_ptr info, int pool, std::size_t size);
  static jvirt_barray_ptr request_array(j_common_ptr info, int pool, boolean zeroed,
                                        JDIMENSION row_blocks, JDIMENSION rows, JDIMENSION most);
  static void make_arrays(j_common_ptr info);
  static JBLOCKARRAY access_array(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION first,
                                  JDIMENSION count, boolean writable);
  static void free_pool(j_common_ptr info, int pool);

  bool reserve(std::size_t size);
  void release();

  jpeg_memory_mgr library_{};  // libjpeg's own functions
  JQUANT_TBL quantisation_[NUM_QUANT_TBLS];
  JHUFF_TBL huffman_[2 * NUM_HUFF_TBLS];
  int quantisation_used_ = 0, huffman_used_ = 0;

  Array arrays_[MAX_COMPONENTS];
  int array_count_ = 0;
  void* pages_ = nullptr;
  std::size_t pages_size_ = 0;
  bool fresh_ = false;  // they are zero
};

}  // namespace penstock::media

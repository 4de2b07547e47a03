// ScanDecoder: the Huffman decoding of a baseline JPEG, where libjpeg spends most of its time.
//
// It takes the place of libjpeg's decoder of coefficients (cinfo.entropy) for one picture and
// leaves all the rest, such as inverse transforms, to the library. The coefficients are the same.
// It knows the common case: Huffman codes, all components in one scan, intact data. When it meets
// anything else it gives up, and the caller has libjpeg decode the picture from its beginning, so
// what becomes of damaged files is the library's word.
//
// How it is faster: the bytes that JPEG stuffs into its data are removed beforehand, some tens of
// kilobytes at a time, so bits are refilled without looking at them; a table over the next bits
// answers the length of a code together with its magnitude bits, so the next symbol waits for one
// look-up only; and the loop over a block has no branch but its end.
//
// Thread safety: one thread at a time.
#pragma once

// jpeglib.h needs FILE and size_t.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstddef>
#include <cstdint>

namespace penstock::media {

// A code and the magnitude behind it.
struct ScanSymbol {
  std::uint8_t total = 0;    // bits of both; 0: there is no such code
  std::uint8_t length = 0;   // bits of the code
  std::uint8_t size = 0;     // bits of the magnitude
  std::uint8_t advance = 0;  // coefficients up to and including this one; 64 ends the block
};

// Up to two whole symbols, with their values. The second has advance 0 if there is none. What is
// no whole symbol has advances that lead out of any block, so that one comparison finds both.
struct ScanPair {
  std::uint8_t total = 0;  // bits of both
  std::uint8_t advance1 = 64;
  std::uint8_t advance2 = 1;
  std::int16_t value1 = 0;
  std::int16_t value2 = 0;
};

struct ScanTable {
  static constexpr int kLookBits = 10;
  static constexpr unsigned kLookSize = 1U << kLookBits;
  // By the next kLookBits bits. A code that is longer, or none, is no symbol.
  ScanSymbol symbols[kLookSize];
  ScanPair pairs[kLookSize];  // of AC tables
  // For longer codes: those of a length are below end[length], left-aligned to 16 bits, and the
  // place of a code in `values` is code + offset[length].
  std::int32_t end[17];
  std::int32_t offset[17];
  bool dc = false;
  // What it was made from: most files have the same tables.
  std::uint8_t counts[17];
  std::uint8_t values[256];
  bool made = false;
};

// Bits that are still to be read: `left` valid ones at the top of `buffer`, `next` are the bytes at
// `at`. Lower bits of the buffer may already hold what comes next.
struct ScanBits {
  const std::uint8_t* at = nullptr;
  std::uint64_t buffer = 0;
  std::uint64_t next = 0;
  int left = 0;
};

struct ScanBlock {
  const ScanTable* dc = nullptr;
  const ScanTable* ac = nullptr;
  int component = 0;
};

class ScanDecoder {
 public:
  // Takes over, between jpeg_start_decompress and the first row, if the picture is of the kind it
  // knows. cinfo.client_data is its own until the end of the picture.
  bool attach(jpeg_decompress_struct& cinfo);

  // The same, but libjpeg keeps its decoder: the caller reads MCU by MCU.
  bool begin(jpeg_decompress_struct& cinfo);
  // The next MCU's blocks, zeroed before; null: they are read over. False: it gives up.
  bool next_mcu(JBLOCKROW* blocks);
  // Whether all MCUs have been read and the end of the file is what follows.
  bool at_end() const;

  // Coefficients of other columns of MCUs are read over. All are kept unless told.
  void keep_columns(std::int64_t first, std::int64_t end) { first_col_ = first, end_col_ = end; }

  // True if libjpeg's error exit was taken because attach() was a mistake.
  bool gave_up() const { return gave_up_; }
  void detach() { gave_up_ = false; }

 private:
  static boolean decode_mcu(j_decompress_ptr cinfo, JBLOCKROW* blocks);
  bool make(ScanTable& table, const JHUFF_TBL* source, bool dc);
  void begin_segment();
  void fill();
  bool next_segment();
  std::int64_t bits_left() const;
  void hand_back(j_decompress_ptr cinfo) const;

  ScanTable tables_[2][NUM_HUFF_TBLS];  // DC, AC
  ScanBlock blocks_[D_MAX_BLOCKS_IN_MCU];
  int block_count_ = 0;
  std::int32_t last_dc_[MAX_COMPS_IN_SCAN] = {};
  ScanBits bits_;

  // An MCU has up to 10 blocks of 64 symbols of up to 31 bits; what is read ahead of them.
  static constexpr std::size_t kMostOfMcu = D_MAX_BLOCKS_IN_MCU * 64 * 31 / 8 + 16;
  static constexpr std::size_t kWindow = std::size_t{32} << 10;

  // The compressed data. A segment is what lies between two markers; its bytes without stuffing
  // are in plain_, a window at a time. Before each MCU there are enough for the most that it can
  // ask for: after the segment's end, zeros.
  const std::uint8_t* raw_ = nullptr;  // the next byte for plain_
  const std::uint8_t* raw_end_ = nullptr;
  const std::uint8_t* marker_ = nullptr;  // where the segment ends, once that is in plain_
  std::uint8_t plain_[kMostOfMcu + kWindow + kMostOfMcu];
  const std::uint8_t* plain_end_ = nullptr;
  const std::uint8_t* low_ = nullptr;  // from here on there may be too few for an MCU
  std::int64_t mcus_left_ = 0;
  std::int64_t row_mcus_ = 0;
  std::int64_t col_ = 0, first_col_ = 0, end_col_ = 0;
  std::int64_t restart_left_ = 0;
  std::int64_t restart_interval_ = 0;
  int next_restart_ = 0;
  bool gave_up_ = false;
};

}  // namespace penstock::media

#include "media/image/jpeg_scan.h"

#include <jerror.h>

#include <algorithm>
#include <cstring>

#include "media/image/jpeg_scan_block.h"

// From libjpeg's jpegint.h, which is not installed. The same in libjpeg-turbo 2 and 3.
struct jpeg_entropy_decoder {
  void (*start_pass)(j_decompress_ptr cinfo);
  boolean (*decode_mcu)(j_decompress_ptr cinfo, JBLOCKROW* blocks);
  boolean insufficient_data;
};

namespace penstock::media {
namespace {

ScanSymbol symbol_of(int value, int length, bool dc) {
  const int size = dc ? value : value & 15, run = dc ? 0 : value >> 4;
  int advance = run + 1;
  if (!dc && size == 0 && run != 15) advance = 64;  // end of block
  return {std::uint8_t(length + size), std::uint8_t(length), std::uint8_t(size),
          std::uint8_t(advance)};
}

void make_pairs(ScanTable& table) {
  constexpr unsigned kLook = ScanTable::kLookBits, kSize = ScanTable::kLookSize;
  const auto value_of = [](unsigned bits, ScanSymbol symbol) {
    return std::int16_t(magnitude(std::uint64_t{bits} << (64 - kLook), symbol.length, symbol.size));
  };
  for (unsigned bits = 0; bits < kSize; ++bits) {
    ScanPair& pair = table.pairs[bits];
    pair = {};
    const ScanSymbol first = table.symbols[bits];
    if (first.total == 0 || first.total > kLook) continue;
    pair = {first.total, first.advance, 0, value_of(bits, first), 0};
    if (first.advance == 64) continue;
    const unsigned rest = bits << first.total & (kSize - 1);
    const ScanSymbol second = table.symbols[rest];
    if (second.total == 0 || first.total + second.total > int(kLook)) continue;
    pair.total = std::uint8_t(first.total + second.total);
    pair.advance2 = second.advance;
    pair.value2 = value_of(rest, second);
  }
}

}  // namespace

ScanSymbol long_symbol(const ScanTable& table, std::uint64_t buffer) {
  const auto code = std::int32_t(buffer >> 48);
  for (int length = ScanTable::kLookBits + 1; length <= 16; ++length) {
    if (code < table.end[length]) {
      const std::int32_t place = (code >> (16 - length)) + table.offset[length];
      return symbol_of(table.values[place & 255], length, table.dc);
    }
  }
  return {};
}

// False where the code lengths make no prefix code, or a DC symbol is none.
bool ScanDecoder::make(ScanTable& table, const JHUFF_TBL* source, bool dc) {
  if (source == nullptr) return false;
  if (table.made && std::memcmp(table.counts, source->bits, 17) == 0 &&
      std::memcmp(table.values, source->huffval, 256) == 0) {
    return true;
  }
  table.made = false;
  table.dc = dc;
  std::memcpy(table.counts, source->bits, 17);
  std::memcpy(table.values, source->huffval, 256);
  std::fill(std::begin(table.symbols), std::end(table.symbols), ScanSymbol{});
  std::int32_t code = 0, place = 0;
  for (int length = 1; length <= 16; ++length) {
    const std::int32_t count = source->bits[length];
    if (place + count > 256 || code + count > 1 << length) return false;
    table.offset[length] = place - code;
    for (std::int32_t i = 0; i < count; ++i, ++place, ++code) {
      const int value = source->huffval[place];
      if (dc && value > 15) return false;
      if (length > ScanTable::kLookBits) continue;
      const int spare = ScanTable::kLookBits - length;
      std::fill_n(table.symbols + (code << spare), 1 << spare, symbol_of(value, length, dc));
    }
    table.end[length] = code << (16 - length);
    code <<= 1;
  }
  if (!dc) make_pairs(table);
  table.made = true;
  return true;
}

bool ScanDecoder::attach(jpeg_decompress_struct& cinfo) {
  if (!begin(cinfo)) return false;
  cinfo.client_data = this;
  cinfo.entropy->decode_mcu = &ScanDecoder::decode_mcu;
  return true;
}

bool ScanDecoder::begin(jpeg_decompress_struct& cinfo) {
#ifndef LIBJPEG_TURBO_VERSION_NUMBER
  return false;  // another libjpeg: its structures may differ
#endif
  gave_up_ = false;
  if (cinfo.progressive_mode || cinfo.arith_code || cinfo.data_precision != 8 ||
      cinfo.comps_in_scan != cinfo.num_components || jpeg_has_multiple_scans(&cinfo) ||
      cinfo.unread_marker != 0) {
    return false;
  }
  block_count_ = cinfo.blocks_in_MCU;
  for (int i = 0; i < block_count_; ++i) {
    const int component = cinfo.MCU_membership[i];
    const jpeg_component_info& info = *cinfo.cur_comp_info[component];
    ScanTable& dc = tables_[0][info.dc_tbl_no & 3];
    ScanTable& ac = tables_[1][info.ac_tbl_no & 3];
    if (!make(dc, cinfo.dc_huff_tbl_ptrs[info.dc_tbl_no & 3], true) ||
        !make(ac, cinfo.ac_huff_tbl_ptrs[info.ac_tbl_no & 3], false)) {
      return false;
    }
    blocks_[i] = {&dc, &ac, component};
  }
  raw_ = cinfo.src->next_input_byte;
  raw_end_ = raw_ + cinfo.src->bytes_in_buffer;
  row_mcus_ = cinfo.MCUs_per_row;
  mcus_left_ = row_mcus_ * std::int64_t(cinfo.MCU_rows_in_scan);
  col_ = 0;
  keep_columns(0, row_mcus_);
  restart_interval_ = restart_left_ = cinfo.restart_interval;
  next_restart_ = 0;
  begin_segment();
  return true;
}

void ScanDecoder::begin_segment() {
  marker_ = raw_end_;
  bits_ = {};
  bits_.at = plain_end_ = plain_;
  fill();
  std::fill(std::begin(last_dc_), std::end(last_dc_), 0);
}

// Keeps what has not been read and adds to it, without the zero behind every 255, up to the first
// marker.
void ScanDecoder::fill() {
  std::uint8_t* to = plain_ + (plain_end_ - bits_.at);
  std::memmove(plain_, bits_.at, std::size_t(to - plain_));
  std::uint8_t* const full = plain_ + kMostOfMcu + kWindow;
  bool ended = false;
  while (!ended && to < full) {
    const std::ptrdiff_t most = std::min(raw_end_ - raw_, full - to);
    const auto* found =
        static_cast<const std::uint8_t*>(std::memchr(raw_, 0xFF, std::size_t(most)));
    const std::ptrdiff_t count = found == nullptr ? most : found - raw_;
    std::memcpy(to, raw_, std::size_t(count));
    to += count;
    raw_ += count;
    if (found == nullptr) {
      ended = raw_ == raw_end_;
    } else if (raw_end_ - raw_ > 1 && raw_[1] == 0) {
      *to++ = 0xFF;
      raw_ += 2;
    } else {
      ended = true;
      marker_ = raw_;
    }
  }
  if (ended) std::memset(to, 0, kMostOfMcu);
  plain_end_ = to;
  low_ = ended ? std::end(plain_) : to - kMostOfMcu;
  bits_.at = plain_;
  bits_.next = load_bits(plain_);
}

// Goes on behind a restart marker; false if it is not the one that is due.
bool ScanDecoder::next_segment() {
  if (bits_left() >= 8 || raw_end_ - marker_ < 2 || marker_[1] != 0xD0 + next_restart_)
    return false;
  next_restart_ = (next_restart_ + 1) & 7;
  restart_left_ = restart_interval_;
  raw_ = marker_ + 2;
  begin_segment();
  return true;
}

// Of the segment, or at least a whole MCU's if its end is not in plain_ yet.
std::int64_t ScanDecoder::bits_left() const {
  return (plain_end_ - bits_.at) * 8 + bits_.left;
}

// The scan is over: libjpeg goes on where the data ends, as if it had read it.
void ScanDecoder::hand_back(j_decompress_ptr cinfo) const {
  cinfo->src->next_input_byte = marker_;
  cinfo->src->bytes_in_buffer = std::size_t(raw_end_ - marker_);
}

bool ScanDecoder::next_mcu(JBLOCKROW* blocks) {
  if (restart_interval_ > 0 && restart_left_-- == 0) {
    if (!next_segment()) return false;
    --restart_left_;
  }
  if (bits_.at > low_) fill();
  if (col_ < first_col_ || col_ >= end_col_) blocks = nullptr;
  if (++col_ == row_mcus_) col_ = 0;
  const std::span all(blocks_, std::size_t(block_count_));
  if (mcus_left_ <= 0 || !decode_blocks(all, bits_, last_dc_, blocks) || bits_left() < 0) {
    return false;
  }
  // libjpeg has something to say about bytes that are left at the end.
  return --mcus_left_ > 0 || bits_left() < 8;
}

bool ScanDecoder::at_end() const {
  return mcus_left_ == 0 && raw_end_ - marker_ >= 2 && marker_[1] == JPEG_EOI;
}

boolean ScanDecoder::decode_mcu(j_decompress_ptr cinfo, JBLOCKROW* blocks) {
  auto* self = static_cast<ScanDecoder*>(cinfo->client_data);
  if (self->next_mcu(blocks)) {
    if (self->mcus_left_ == 0) self->hand_back(cinfo);
    return TRUE;
  }
  self->gave_up_ = true;
  ERREXIT(cinfo, JERR_INPUT_EOF);
  return FALSE;
}

}  // namespace penstock::media

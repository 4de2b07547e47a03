// Compiled once for each instruction set, for the sake of shifts by a variable number of bits; the
// best one that the CPU has is chosen at run time.
#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/image/jpeg_scan_block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "media/image/jpeg_scan_block.h"

HWY_BEFORE_NAMESPACE();
namespace penstock::media {
namespace HWY_NAMESPACE {

// Natural order by zigzag place. Runs past the end go to the last one, as in libjpeg; so do the
// zeros that stand for the end of a block.
constexpr std::uint8_t kNatural[64 + 64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,  //
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
};

// At least 56 bits are valid afterwards.
HWY_INLINE void Refill(ScanBits& bits) {
  bits.buffer |= bits.next >> bits.left;
  bits.at += (63 - bits.left) >> 3;
  bits.left |= 56;
  bits.next = load_bits(bits.at);
}

HWY_INLINE void Consume(ScanBits& bits, unsigned count) {
  bits.buffer <<= count;
  bits.left -= int(count);
}

// One symbol, whatever the length of its code; `total` 0: it is none.
HWY_INLINE ScanSymbol Single(const ScanTable& table, std::uint64_t buffer) {
  const ScanSymbol symbol = table.symbols[buffer >> (64 - ScanTable::kLookBits)];
  return HWY_LIKELY(symbol.total != 0) ? symbol : long_symbol(table, buffer);
}

// Bits are refilled for several steps at once, because the next look-up waits for them.
constexpr unsigned kStepsPerRefill = 4;
static_assert(kStepsPerRefill * ScanTable::kLookBits <= 56);

template <bool kKeep>
bool Decode(std::span<const ScanBlock> blocks, ScanBits& state, std::int32_t* last_dc,
            JBLOCKROW* to) {
  ScanBits bits = state;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const ScanBlock& block = blocks[i];
    JCOEF* const out = kKeep ? *to[i] : nullptr;
    Refill(bits);
    const ScanSymbol first = Single(*block.dc, bits.buffer);
    if (first.total == 0) return false;
    const std::int32_t step = magnitude(bits.buffer, first.length, first.size);
    std::int32_t& dc = last_dc[block.component];
    dc = std::int32_t(std::uint32_t(dc) + std::uint32_t(step));
    if (kKeep) out[0] = JCOEF(dc);
    Consume(bits, first.total);

    const ScanTable& table = *block.ac;
    for (unsigned k = 0, step = 0; k < 63; ++step) {
      if (step % kStepsPerRefill == 0) Refill(bits);
      const ScanPair pair = table.pairs[bits.buffer >> (64 - ScanTable::kLookBits)];
      const unsigned k1 = k + pair.advance1;
      // No whole symbol, or a second one that is of the next block.
      if (HWY_UNLIKELY((k1 >= 63) & (pair.advance2 != 0))) {
        Refill(bits);
        const ScanSymbol symbol = Single(table, bits.buffer);
        if (symbol.total == 0) return false;
        k += symbol.advance;
        if (kKeep) out[kNatural[k]] = JCOEF(magnitude(bits.buffer, symbol.length, symbol.size));
        Consume(bits, symbol.total);
        step = kStepsPerRefill - 1;
        continue;
      }
      k = k1 + pair.advance2;
      if (kKeep) {  // without a second symbol the first one overwrites its zero
        out[kNatural[k]] = pair.value2;
        out[kNatural[k1]] = pair.value1;
      }
      Consume(bits, pair.total);
    }
  }
  state = bits;
  return true;
}

bool DecodeBlocks(std::span<const ScanBlock> blocks, ScanBits& bits, std::int32_t* last_dc,
                  JBLOCKROW* to) {
  return to == nullptr ? Decode<false>(blocks, bits, last_dc, to)
                       : Decode<true>(blocks, bits, last_dc, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace penstock::media
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::media {

HWY_EXPORT(DecodeBlocks);

bool decode_blocks(std::span<const ScanBlock> blocks, ScanBits& bits, std::int32_t* last_dc,
                   JBLOCKROW* to) {
  return HWY_DYNAMIC_DISPATCH(DecodeBlocks)(blocks, bits, last_dc, to);
}

}  // namespace penstock::media
#endif

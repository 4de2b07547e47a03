// Ranks: which rows and batches of the global order belong to which rank.
//
// An epoch has positions 0, 1, 2, ... Counting from `start` (0, or where a token says), rank r of W
// takes start + r, start + r + W, ...; its k-th row is in batch k / B, slot k % B. After n batches
// on every rank the positions below start + n * B * W are done: one number is the state.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace penstock::data {

enum class Ends : std::uint8_t {
  pad,    // all ranks have equally many rows: the last round is filled up from the beginning
  even,   // the last round that is not full on all ranks is left out (drop_last)
  brief,  // as it falls: some ranks may have a row, or a batch, less ("short")
};

struct Share {
  std::uint64_t rank = 0;
  std::uint64_t world = 1;
  std::uint64_t batch = 1;  // rows
  Ends ends = Ends::pad;
};

// The rows of a batch: positions first, first + stride, ... From `valid` rows on they lie beyond
// the end and stand for position % length: they are there to fill up.
struct BatchRows {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
  std::uint64_t rows = 0;
  std::uint64_t valid = 0;
};

class Rounds {
 public:
  // `length` is that of the order; nothing: endless. `start` is not beyond it.
  Rounds(const Share& share, std::optional<std::uint64_t> length, std::uint64_t start)
      : share_(share), length_(length), start_(start) {}

  // Rows and batches of this rank. Nothing: endless.
  std::optional<std::uint64_t> rows() const {
    if (!length_) return std::nullopt;
    const std::uint64_t left = *length_ - start_, w = share_.world;
    switch (share_.ends) {
      case Ends::even:
        return left / w / share_.batch * share_.batch;
      case Ends::brief:
        return left / w + (share_.rank < left % w ? 1 : 0);
      case Ends::pad:
        break;
    }
    return left / w + (left % w != 0 ? 1 : 0);
  }
  std::optional<std::uint64_t> batches() const {
    const std::optional<std::uint64_t> all = rows();
    if (!all) return all;
    return *all / share_.batch + (*all % share_.batch != 0 ? 1 : 0);
  }

  // Batch n of this rank, n < batches().
  BatchRows at(std::uint64_t n) const {
    const std::uint64_t before = n * share_.batch;
    BatchRows batch{start_ + share_.rank + before * share_.world, share_.world, share_.batch,
                    share_.batch};
    if (!length_) return batch;
    batch.rows = std::min(share_.batch, *rows() - before);
    const std::uint64_t inside =
        batch.first >= *length_ ? 0 : (*length_ - 1 - batch.first) / batch.stride + 1;
    batch.valid = std::min(batch.rows, inside);
    return batch;
  }

  // The position that says: n batches are done on every rank. Equal to length() at the end. The
  // same on all ranks, also where this one has a batch less.
  std::uint64_t after(std::uint64_t n) const {
    const std::uint64_t round = share_.batch * share_.world;
    if (length_ && share_.ends == Ends::even && n >= *batches()) return *length_;
    return length_ ? std::min(*length_, start_ + n * round) : start_ + n * round;
  }

 private:
  Share share_;
  std::optional<std::uint64_t> length_;
  std::uint64_t start_;
};

}  // namespace penstock::data

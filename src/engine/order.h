// Output in input order: finished tasks wait here until all earlier ones have left.
// Used under the engine's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "penstock/item.h"

namespace penstock::engine {

struct Output {
  Item item;
  int port = 0;
};

class OrderWindow {
 public:
  // A place for the next task. Numbers are given in the order of the inputs.
  std::uint64_t enter() {
    cells_.emplace_back();
    return first_ + cells_.size() - 1;
  }

  void add_output(std::uint64_t number, Output output) {
    Cell& cell = cells_[number - first_];
    if (!cell.output && cell.more.empty()) {
      cell.output.emplace(std::move(output));
    } else {
      cell.more.push_back(std::move(output));
    }
  }
  void complete(std::uint64_t number) { cells_[number - first_].complete = true; }

  // The oldest task: the only one whose outputs may leave.
  bool is_head(std::uint64_t number) const noexcept { return number == first_; }
  bool empty() const noexcept { return cells_.empty(); }

  // The next output that may leave, if there is one.
  std::optional<Output> next() {
    while (!cells_.empty()) {
      Cell& head = cells_.front();
      if (head.output) return std::exchange(head.output, std::nullopt);
      if (!head.more.empty()) {
        Output output = std::move(head.more.front());
        head.more.pop_front();
        return output;
      }
      if (!head.complete) return std::nullopt;
      cells_.pop_front();
      ++first_;
    }
    return std::nullopt;
  }

  template <class F>
  void clear(F&& discard) {
    for (Cell& cell : cells_) {
      if (cell.output) discard(std::move(cell.output->item));
      for (Output& output : cell.more) discard(std::move(output.item));
    }
    first_ += cells_.size();
    cells_.clear();
  }

 private:
  struct Cell {
    std::optional<Output> output;  // most tasks have one at most: no allocation for these
    std::deque<Output> more;
    bool complete = false;
  };
  std::deque<Cell> cells_;
  std::uint64_t first_ = 0;
};

}  // namespace penstock::engine

// Scanner: the members of a tar, one after the other, whatever wrote it and however damaged it is.
//
// Understood: ustar, GNU long names, pax (path, size), base-256 sizes, v7, several tars in one
// file. Sparse members and everything that is not a file are passed over and counted. A header that
// is damaged is reported, and the scan goes on at the next good one: where the damaged header says
// if there is one, else at the first that is found in steps of 512 bytes.
//
// The scanner looks at headers only. Whoever wants a member's bytes asks the window for them before
// the next call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/records.h"
#include "formats/tar/header.h"
#include "formats/window.h"
#include "penstock/error.h"

namespace penstock::formats::tar {

struct Member {
  std::string name;
  std::uint64_t header = 0;   // offset of its first block, long name and pax records included
  std::uint64_t payload = 0;  // offset of its bytes
  std::uint64_t size = 0;
};

// A place where something was destroyed.
struct Damage {
  std::uint64_t offset = 0;
  std::string name;  // what can be read of the member's name; may be nonsense
};

class Scanner {
 public:
  enum class Event : std::uint8_t { member, damage, end };

  explicit Scanner(Window& window) : window_(&window) {}

  // An Error is the window's: the stream could not be read on.
  Result<Event> next();

  const Member& member() const noexcept { return member_; }
  const Damage& damage() const noexcept { return damage_; }
  std::uint64_t position() const noexcept { return position_; }  // where it looks next

  // Does the file end inside the member? Known at once if the size of the stream is known. If not,
  // whoever finds out says so: cut_here.
  bool cut() const noexcept { return cut_; }
  void cut_here() noexcept;

  // Where it ended, if there was no end mark.
  std::optional<std::uint64_t> unmarked_end() const noexcept {
    return findings_.without_end > 0 ? std::optional(position_) : std::nullopt;
  }

  // not_files, sparse, damaged, cut and without_end, so far.
  const Findings& findings() const noexcept { return findings_; }

 private:
  struct Extension {  // what a long name or pax records say of the member to come
    std::uint64_t start = 0;
    bool any = false, has_path = false, has_size = false, sparse = false;
    std::string path;
    std::uint64_t size = 0;
  };

  // Each deals with what is at position_. True: event_ is to be reported.
  Result<bool> step();
  Result<bool> on_header(Block block, const Header& header);
  Result<bool> on_extension(Block block, const Header& header);
  Result<bool> on_zeros();
  Result<bool> on_damage(Block block);
  bool on_end(std::span<const std::byte> rest);

  bool on_member(Block block, const Header& header);
  bool report(std::uint64_t offset);
  void pass(std::uint64_t& count, const Header& header);
  Status skip_sparse_blocks();
  Result<bool> read_extension(const Header& header);
  static bool holds_a_tar(std::span<const std::byte> member) noexcept;
  Result<bool> find_header(std::uint64_t from, bool damaged_too);

  Window* window_;
  std::uint64_t position_ = 0;  // of the next header
  Extension extension_;
  Event event_ = Event::end;
  Member member_;
  Damage damage_;
  Findings findings_;
  bool lost_ = false;  // a damage was reported: find the next good header first
  bool cut_ = false;
  bool ended_ = false;
};

}  // namespace penstock::formats::tar

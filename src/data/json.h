// JSON, parsed on a worker: what is left to do for a user's language is to make its objects.
//
// What Python's json reads is read, also what JSON proper has not: NaN, Infinity and integers of
// any size. Lone surrogates are refused.
//
// Thread safety: a Json is immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "penstock/error.h"

namespace penstock::data {

class Json {
 public:
  // Told what is there, from the first to the last. Lists and objects end where end() says so; the
  // values of an object each come after their key().
  class Visitor {
   public:
    virtual ~Visitor() = default;
    virtual void null() = 0;
    virtual void boolean(bool value) = 0;
    virtual void number(std::int64_t value) = 0;
    virtual void number(std::uint64_t value) = 0;
    virtual void number(double value) = 0;
    // As it is written: one that 64 bits do not hold, NaN, Infinity or -Infinity.
    virtual void other_number(std::string_view text) = 0;
    virtual void text(std::string_view value) = 0;
    virtual void list(std::size_t size) = 0;
    virtual void object() = 0;
    virtual void key(std::string_view name) = 0;
    virtual void end() = 0;
  };

  virtual ~Json() = default;
  virtual void visit(Visitor& visitor) const = 0;
  virtual std::size_t bytes() const noexcept = 0;  // of memory that it holds
};
using JsonPtr = std::shared_ptr<const Json>;

Result<JsonPtr> parse_json(std::string_view text);

}  // namespace penstock::data

// Error and Result: how every fallible call in Penstock answers.
//
// The library never throws across its public surface, never prints and never aborts. A call that
// can fail returns Result<T> (or Status when there is nothing to return). An Error says what
// happened, where (file, byte offset, sample) and what the user can do about it.
//
// Thread safety: plain values; distinct objects may be used from distinct threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace penstock {

enum class Code : std::uint8_t {
  invalid_argument,  // the caller passed something that can never work
  not_found,         // no such file or stage
  no_field,          // the data has no such field or array
  io,                // the system refused or cut short a read or a write
  corrupt,           // the data is damaged
  unsupported,       // valid, but this build or version cannot do it
  out_of_range,      // an index or a size beyond the limit
  out_of_memory,     // a byte budget or the system's memory is spent
  timeout,           // nothing came in time
  closed,            // the thing was stopped or closed before
  failed,            // a user's function failed
  internal,          // a bug in Penstock
};

// A stable lower-case word for a code, as used in messages: "corrupt".
std::string_view name_of(Code code) noexcept;

// Where something happened. Parts that are unknown stay empty or negative.
struct Where {
  std::string file;
  std::int64_t offset = -1;
  std::string sample;
};

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const Where& where() const noexcept { return where_; }

  // Adds what only an outer layer knows. Parts that are already set are kept: the innermost wins.
  Error& in_file(std::string file) &;
  Error& at_offset(std::int64_t offset) &;
  Error& of_sample(std::string sample) &;
  Error&& in_file(std::string file) && { return std::move(in_file(std::move(file))); }
  Error&& at_offset(std::int64_t offset) && { return std::move(at_offset(offset)); }
  Error&& of_sample(std::string sample) && { return std::move(of_sample(std::move(sample))); }

  // Appends to the message.
  void add_words(std::string_view words) { message_ += words; }

  // An object that belongs to the error, such as the exception of another language.
  Error& attach(std::shared_ptr<const void> object) & {
    attached_ = std::move(object);
    return *this;
  }
  Error&& attach(std::shared_ptr<const void> object) && {
    return std::move(attach(std::move(object)));
  }
  const std::shared_ptr<const void>& attached() const noexcept { return attached_; }

  // "corrupt: message (file a.tar, offset 512, sample 0007)"
  std::string to_string() const;

 private:
  Code code_;
  std::string message_;
  Where where_;
  std::shared_ptr<const void> attached_;
};

// A value or an Error. Asking for the part that is not there is a programming error and throws
// std::bad_variant_access.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  Error& error() & { return error_.value(); }
  const Error& error() const& { return error_.value(); }
  Error&& error() && { return std::move(error_).value(); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace penstock

// Handle: an identifier of libhdf5 that is closed when it goes; and what libhdf5 says of a failure.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "penstock/error.h"

namespace penstock::formats::hdf5 {

class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const noexcept { return id_ >= 0; }
  hid_t get() const noexcept { return id_; }

 private:
  hid_t id_;
  Close close_;
};

inline Handle type_handle(hid_t id) {
  return {id, &H5Tclose};
}
inline Handle space_handle(hid_t id) {
  return {id, &H5Sclose};
}
inline Handle plist_handle(hid_t id) {
  return {id, &H5Pclose};
}
inline Handle dataset_handle(hid_t id) {
  return {id, &H5Dclose};
}

// The innermost message of the failure that has just happened.
inline std::string last_failure() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned number, const H5E_error2_t* one, void* into) -> herr_t {
        if (number == 0 && one->desc != nullptr) *static_cast<std::string*>(into) = one->desc;
        return 0;
      },
      &text);
  return text.empty() ? "no reason given" : text;
}

}  // namespace penstock::formats::hdf5

// Scratch: an uninitialised, cache-line aligned array that only ever grows.
//
// Kept between calls so that a warm thread allocates nothing. Its contents are lost when it grows.
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace penstock {

template <class T>
class Scratch {
  static_assert(std::is_trivial_v<T>);

 public:
  // At least `count` elements. Throws std::bad_alloc; callers turn that into an Error.
  T* reserve(std::size_t count) {
    if (count > capacity_) {
      data_.reset();
      capacity_ = 0;
      data_.reset(static_cast<T*>(::operator new(count * sizeof(T), alignment)));
      capacity_ = count;
    }
    return data_.get();
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };

  std::unique_ptr<T[], Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace penstock

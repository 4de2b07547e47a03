// Item: one value of any movable type on its way through a pipeline.
//
// An Item owns its value and is moved, never copied. Values of up to 24 bytes that move without
// throwing live inside the Item; larger ones live on the heap. Asking for a type that is not
// there gives a null pointer, never undefined behaviour.
//
// Thread safety: a plain value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace penstock {

class Item {
 public:
  Item() noexcept = default;
  Item(Item&& other) noexcept { steal(other); }
  Item& operator=(Item&& other) noexcept {
    if (this != &other) {
      reset();
      steal(other);
    }
    return *this;
  }
  Item(const Item&) = delete;
  Item& operator=(const Item&) = delete;
  ~Item() { reset(); }

  template <class T>
  static Item of(T value) {
    Item item;
    if constexpr (fits<T>()) {
      new (item.storage_) T(std::move(value));
    } else {
      T* held = new T(std::move(value));
      std::memcpy(item.storage_, &held, sizeof(held));
    }
    item.type_ = &type_of<T>;
    return item;
  }

  bool empty() const noexcept { return type_ == nullptr; }

  template <class T>
  bool holds() const noexcept {
    // Equal types may have two descriptors when they come from two shared libraries.
    return type_ == &type_of<T> || (type_ != nullptr && *type_->info == typeid(T));
  }

  // The same for types that are only ever put into Items by one library: a pointer is compared.
  template <class T>
  bool is() const noexcept {
    return type_ == &type_of<T>;
  }
  template <class T>
  T* get_if_is() noexcept {
    return is<T>() ? at<T>() : nullptr;
  }

  // The value, or null when the Item is empty or holds another type.
  template <class T>
  T* get() noexcept {
    return holds<T>() ? at<T>() : nullptr;
  }
  template <class T>
  const T* get() const noexcept {
    return const_cast<Item*>(this)->get<T>();
  }

  // Moves the value out and leaves the Item empty. The type must be the held one.
  template <class T>
  T take() {
    T value = std::move(*at<T>());
    reset();
    return value;
  }

  void reset() noexcept {
    if (type_ == nullptr) return;
    if (type_->destroy != nullptr) type_->destroy(storage_);
    type_ = nullptr;
  }

  // The held type's name as the compiler gives it; "nothing" when empty.
  const char* type_name() const noexcept { return type_ ? type_->info->name() : "nothing"; }

 private:
  static constexpr std::size_t kInline = 24;

  struct Type {
    const std::type_info* info;
    void (*relocate)(void* to, void* from) noexcept;  // null: copy the bytes
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
  };

  template <class T>
  static constexpr bool fits() {
    return sizeof(T) <= kInline && alignof(T) <= alignof(void*) &&
           std::is_nothrow_move_constructible_v<T>;
  }

  template <class T>
  T* at() noexcept {
    if constexpr (fits<T>()) {
      return std::launder(reinterpret_cast<T*>(storage_));
    } else {
      T* held;
      std::memcpy(&held, storage_, sizeof(held));
      return held;
    }
  }

  template <class T>
  static void relocate_value(void* to, void* from) noexcept {
    T* source = std::launder(static_cast<T*>(from));
    new (to) T(std::move(*source));
    source->~T();
  }
  template <class T>
  static void destroy_value(void* storage) noexcept {
    std::launder(static_cast<T*>(storage))->~T();
  }
  template <class T>
  static void destroy_heap(void* storage) noexcept {
    T* held;
    std::memcpy(&held, storage, sizeof(held));
    delete held;
  }

  template <class T>
  static constexpr Type describe() {
    if constexpr (!fits<T>()) {
      return {&typeid(T), nullptr, &destroy_heap<T>};
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      return {&typeid(T), nullptr, nullptr};
    } else {
      return {&typeid(T), &relocate_value<T>, &destroy_value<T>};
    }
  }
  template <class T>
  static inline const Type type_of = describe<T>();

  void steal(Item& other) noexcept {
    type_ = other.type_;
    if (type_ == nullptr) return;
    if (type_->relocate != nullptr) {
      type_->relocate(storage_, other.storage_);
    } else {
      std::memcpy(storage_, other.storage_, kInline);
    }
    other.type_ = nullptr;
  }

  alignas(void*) std::byte storage_[kInline];
  const Type* type_ = nullptr;
};

}  // namespace penstock

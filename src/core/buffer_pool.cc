// The public faces of the pool: thin handles on PoolState.
#include "core/pool_state.h"
#include "penstock/buffer.h"

namespace penstock {

BufferPool::BufferPool(std::size_t budget, std::shared_ptr<MemorySource> source)
    : state_(new detail::PoolState(budget, std::move(source))) {}

BufferPool::~BufferPool() {
  state_->close_pool();
}

Result<Buffer> BufferPool::allocate(std::size_t size) {
  return state_->allocate(size, nullptr);
}

std::optional<Reservation> BufferPool::try_reserve(std::size_t bytes) {
  detail::PoolAccount* account = state_->try_reserve(bytes);
  if (account == nullptr) return std::nullopt;
  return Reservation(account);
}

RoomListener BufferPool::on_room(std::function<void()> callback) {
  auto listener = std::make_shared<detail::Listener>(state_, std::move(callback));
  state_->add(listener);
  return RoomListener(std::move(listener));
}

PoolStats BufferPool::stats() const {
  return state_->stats();
}

void BufferPool::trim() noexcept {
  state_->trim();
}

Result<Buffer> Reservation::allocate(std::size_t size) {
  if (account_ == nullptr) return Error(Code::closed, "the reservation was released before");
  return account_->pool->allocate(size, account_);
}

std::size_t Reservation::left() const noexcept {
  return account_ == nullptr ? 0 : account_->pool->left(account_);
}

void Reservation::release() noexcept {
  if (account_ != nullptr) account_->pool->close(std::exchange(account_, nullptr));
}

RoomListener::RoomListener(std::shared_ptr<detail::Listener> listener) noexcept
    : listener_(std::move(listener)) {}
RoomListener::RoomListener(RoomListener&& other) noexcept = default;

RoomListener& RoomListener::operator=(RoomListener&& other) noexcept {
  RoomListener old(std::move(*this));
  listener_ = std::move(other.listener_);
  return *this;
}

RoomListener::~RoomListener() {
  if (listener_ == nullptr) return;
  listener_->pool->remove(listener_.get());
  listener_->close();
}

}  // namespace penstock

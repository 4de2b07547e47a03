#include "penstock/remote.h"

#include "engine/engine.h"

namespace penstock {

namespace engine {

std::optional<RemoteTask> Engine::claim_remote(const Lane& lane) {
  auto claim = std::make_unique<Claim>();
  Chores chores;
  const bool found = exchange(lane_number(lane), *claim, true, chores);
  carry_out(chores);
  if (!found) return std::nullopt;
  return RemoteTask(shared_from_this(), std::move(claim));
}

void Engine::publish_remote(Claim& claim) {
  Chores chores;
  exchange(-1, claim, false, chores);
  carry_out(chores);
}

}  // namespace engine

RemoteTask::RemoteTask(std::shared_ptr<engine::Engine> engine, std::unique_ptr<engine::Claim> claim)
    : engine_(std::move(engine)), claim_(std::move(claim)) {}

RemoteTask::RemoteTask(RemoteTask&&) noexcept = default;

RemoteTask& RemoteTask::operator=(RemoteTask&& other) noexcept {
  std::swap(engine_, other.engine_);
  std::swap(claim_, other.claim_);
  return *this;
}

RemoteTask::~RemoteTask() {
  if (claim_ == nullptr) return;
  std::move(*this).fail(
      Error(Code::internal, claim_->stage->spec.name + ": the task was abandoned by its lane"));
}

const std::string& RemoteTask::stage() const noexcept {
  return claim_->stage->spec.name;
}

Item& RemoteTask::item() noexcept {
  return claim_->in[0];
}

void RemoteTask::finish(Item output, int port) && {
  claim_->out.push_back({{std::move(output), port}, 0});
  complete();
}

void RemoteTask::drop() && {
  claim_->source_done = claim_->what == engine::Claim::What::poll;
  complete();
}

void RemoteTask::fail(Error error) && {
  claim_->errors.push_back({0, std::move(error)});
  complete();
}

void RemoteTask::complete() {
  claim_->in[0].reset();
  engine_->publish_remote(*claim_);
  claim_.reset();
  engine_.reset();
}

}  // namespace penstock

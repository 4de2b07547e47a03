// What becomes of results: outputs, failures, marks. Everything here runs under the engine's lock.
#include <algorithm>

#include "engine/engine.h"

namespace penstock::engine {

namespace {
constexpr std::size_t kReports = 1000;  // failures kept for failures()
}

void Engine::publish(Claim& claim) {
  Stage& stage = *claim.stage;
  stage.running--;
  running_--;
  if (state_ == State::stopped || stage.muted) {
    discard_results(claim);
  } else if (claim.what == Claim::What::rows) {
    publish_rows(claim);
  } else {
    publish_tasks(claim);
  }
  if (state_ != State::stopped) {
    end_if_over(stage);
    stage.touch(now());
    choose_capacities(stage);
  }
  claim.clear();
}

// The results of an abandoned task, or of a stage the failed pipeline no longer listens to.
void Engine::discard_results(Claim& claim) {
  for (auto& emitted : claim.out) after_.discarded.push_back(std::move(emitted.output.item));
  for (auto& held : claim.held) after_.discarded.push_back(std::move(held.task->item));
  if (claim.ticket != nullptr) {
    claim.ticket->workers--;
  } else {
    claim.stage->release(claim.budget);
  }
}

// Queues beside fast stages may be longer: see Stage::fast.
void Engine::choose_capacities(Stage& stage) {
  const auto choose = [](Queue& queue) {
    if (queue.reader == nullptr) return;  // the sink has the size its user gave it
    bool fast = queue.reader->fast();
    for (const Stage* producer : queue.producers) fast = fast && producer->fast();
    queue.set_fast(fast);
  };
  for (Queue* queue : stage.out) choose(*queue);
  if (stage.in != nullptr) choose(*stage.in);
}

void Engine::publish_tasks(Claim& claim) {
  Stage& stage = *claim.stage;
  const int outputs = static_cast<int>(claim.out.size());
  const int inputs = claim.what == Claim::What::items ? claim.count : 1;
  // A poll or a stream is timed per output.
  stage.record_tasks(now() - claim.started, std::max(inputs, outputs));
  if (stage.spec.kind == Kind::pipe && !stage.spec.flush) {
    stage.dropped += static_cast<std::uint64_t>(inputs - outputs) - claim.held.size() -
                     claim.errors.size();
  }
  std::optional<Error> fatal = judge_errors(claim);
  publish_outputs(claim, inputs);
  publish_held(claim);
  if (claim.source_done) stage.source_done = true;
  if (claim.epoch_end) forward(stage, Mark::epoch_end);
  if (fatal) fail_from(stage, std::move(*fatal));
}

void Engine::publish_outputs(Claim& claim, int inputs) {
  Stage& stage = *claim.stage;
  const bool poll = claim.what == Claim::What::poll;
  // What was reserved and not used goes back. A task that is not over and has not used its room
  // keeps it: it could not be sure to get it again when its turn comes.
  int kept = 0;
  for (auto& held : claim.held) {
    const bool used = std::any_of(claim.out.begin(), claim.out.end(),
                                  [&](const auto& one) { return one.index == held.index; });
    if (poll || used) continue;
    held.task->reserved = 1;
    kept++;
  }
  stage.release(claim.budget - static_cast<int>(claim.out.size()) - kept);

  if (poll || !stage.ordered()) {
    for (auto& emitted : claim.out) send(stage, std::move(emitted.output));
    return;
  }
  for (auto& emitted : claim.out) {
    stage.window.add_output(claim.number + static_cast<std::uint64_t>(emitted.index),
                            std::move(emitted.output));
  }
  std::size_t held = 0;
  for (int i = 0; i < inputs; ++i) {
    if (held < claim.held.size() && claim.held[held].index == i) {
      held++;
    } else {
      stage.window.complete(claim.number + static_cast<std::uint64_t>(i));
    }
  }
  drain_window(stage);
}

void Engine::publish_held(Claim& claim) {
  Stage& stage = *claim.stage;
  for (auto& held : claim.held) {
    ParkedTask& task = *held.task;
    task.number = claim.number + static_cast<std::uint64_t>(held.index);
    task.parked = true;
    stage.parked++;
    if (held.blocked && !task.woken) {
      stage.blocked.push_back(std::move(held.task));
    } else {
      stage.ready.push_back(std::move(held.task));
    }
  }
}

// Counts and reports failures. Under OnFailure::deliver each becomes an output; otherwise the
// result is the error that was one too many.
std::optional<Error> Engine::judge_errors(Claim& claim) {
  std::optional<Error> fatal;
  for (auto& [index, error] : claim.errors) {
    const bool deliver =
        on_failure_ == OnFailure::deliver && claim.stage->spec.kind != Kind::source;
    if (too_many(*claim.stage, error) && !fatal) fatal = error;
    if (deliver) claim.out.push_back({{Item::of(Failure{std::move(error)}), 0}, index});
  }
  return fatal;
}

bool Engine::too_many(Stage& stage, const Error& error) {
  stage.failures++;
  if (reports_.size() < kReports) reports_.push_back({stage.spec.name, error});
  if (report_failure_) after_.reports.push_back({stage.spec.name, error});
  if (stage.spec.kind == Kind::source) return true;
  if (on_failure_ == OnFailure::deliver) return false;
  const FailureLimit& limit = stage.spec.options.too_many_failures
                                  ? stage.spec.options.too_many_failures
                                  : too_many_failures_;
  const std::uint64_t processed =
      stage.spec.kind == Kind::fill ? stage.items_in : stage.histogram.total();
  return limit && limit(processed, stage.failures);
}

void Engine::publish_rows(Claim& claim) {
  Stage& stage = *claim.stage;
  if (claim.rows_done > 0) stage.record_tasks(now() - claim.started, claim.rows_done);
  OpenTicket& ticket = *claim.ticket;
  ticket.workers--;
  if (ticket.left.load(std::memory_order_acquire) == 0 && ticket.workers == 0) {
    finish_ticket(stage, ticket);
  }
}

// All rows are done and nobody is inside any more.
void Engine::finish_ticket(Stage& stage, OpenTicket& ticket) {
  Item output = std::move(ticket.item);
  std::optional<Error> fatal;
  if (ticket.error) {
    after_.discarded.push_back(std::move(output));
    if (too_many(stage, *ticket.error)) fatal = *ticket.error;
    if (on_failure_ == OnFailure::deliver) output = Item::of(Failure{std::move(*ticket.error)});
    ticket.error.reset();
  }
  if (output.empty()) {
    stage.release(1);
  } else {
    stage.window.add_output(ticket.number, {std::move(output), 0});
  }
  stage.window.complete(ticket.number);
  const auto at = std::find_if(stage.open.begin(), stage.open.end(),
                               [&](const auto& one) { return one.get() == &ticket; });
  stage.spare.push_back(std::move(*at));
  stage.open.erase(at);
  drain_window(stage);
  if (fatal) fail_from(stage, std::move(*fatal));
}

void Engine::drain_window(Stage& stage) {
  stage.window.drain([&](Output&& output) { send(stage, std::move(output)); });
}

// Puts an output for which room is reserved into its queue.
void Engine::send(Stage& stage, Output output) {
  stage.release(1);
  const auto port = static_cast<std::size_t>(output.port);
  if (port >= stage.out.size()) {
    after_.discarded.push_back(std::move(output.item));
    fail_from(stage, Error(Code::out_of_range,
                           stage.spec.name + ": chose path " + std::to_string(output.port) +
                               " of " + std::to_string(stage.out.size()) +
                               "; paths count from 0"));
    return;
  }
  stage.items_out++;
  Queue& queue = *stage.out[port];
  queue.push(std::move(output.item));
  if (queue.reader != nullptr && queue.reader->condition == Condition::waiting) {
    queue.reader->touch(now());
  }
}

// A mark leaves a stage: it enters each output queue once all producers of that queue are there.
void Engine::forward(Stage& stage, Mark mark) {
  if (mark == Mark::end) stage.ended = true;
  for (Queue* queue : stage.out) {
    if (mark == Mark::end) {
      queue->ended++;
    } else {
      queue->at_epoch++;
      stage.barriers++;
    }
    if (queue->ended + queue->at_epoch < queue->producers.size()) continue;
    if (queue->at_epoch == 0) {
      queue->push(Item::of(Mark::end));
      continue;
    }
    queue->push(Item::of(Mark::epoch_end));
    queue->at_epoch = 0;
    for (Stage* producer : queue->producers) {
      if (!producer->ended) producer->barriers--;
    }
    for (Stage* producer : queue->producers) end_if_over(*producer);
  }
}

// A delivered failure passes through a stage in its item's place.
void Engine::forward_failure(Stage& stage, Item failure) {
  stage.reserve(1);
  if (stage.ordered()) {
    const std::uint64_t number = stage.window.enter();
    stage.window.add_output(number, {std::move(failure), 0});
    stage.window.complete(number);
    drain_window(stage);
  } else {
    send(stage, {std::move(failure), 0});
  }
}

// The pipeline has failed at this stage. What comes before it is dropped, what it has begun and
// what is behind it flows out, then the consumer gets the error.
void Engine::fail_from(Stage& stage, Error error) {
  if (!failure_) failure_.emplace(std::move(error));
  stage.closed = true;
  if (stage.in != nullptr) {
    drop_queue(*stage.in);
    for (Stage* producer : stage.in->producers) mute(*producer);
  }
  // Sources of branches that still flow end as if they were exhausted.
  for (const auto& other : stages_) {
    if (other->spec.kind != Kind::source) continue;
    other->source_done = true;
    drop_parked(*other);
    if (other.get() != &stage) end_if_over(*other);
  }
}

void Engine::mute(Stage& stage) {
  if (stage.muted) return;
  stage.closed = stage.muted = true;
  stage.window.clear([&](Item&& item) { after_.discarded.push_back(std::move(item)); });
  drop_parked(stage);
  if (stage.in == nullptr) return;
  drop_queue(*stage.in);
  for (Stage* producer : stage.in->producers) mute(*producer);
}

void Engine::drop_parked(Stage& stage) {
  for (auto* list : {&stage.ready, &stage.blocked}) {
    for (auto& task : *list) {
      stage.release(std::exchange(task->reserved, 0));
      after_.discarded.push_back(std::move(task->item));
    }
    stage.parked -= static_cast<int>(list->size());
    list->clear();
  }
}

void Engine::drop_queue(Queue& queue) {
  while (!queue.empty()) after_.discarded.push_back(queue.pop());
}

// Sends a stage's end mark once it will never have an output again, where no mark in its input
// does so: for sources, and after a failure.
void Engine::end_if_over(Stage& stage) {
  const bool over = stage.closed || stage.source_done;
  if (over && !stage.ended && !stage.muted && stage.barriers == 0 && stage.quiet()) {
    forward(stage, Mark::end);
  }
}

}  // namespace penstock::engine

// What becomes of results: outputs, failures, marks. Everything here runs under the engine's lock.
#include <algorithm>

#include "engine/engine.h"
#include "engine/trace.h"

namespace penstock::engine {

void Engine::publish(Claim& claim) {
  if (tracing()) {
    publish_traced(claim);
  } else {
    settle(claim);
  }
}

void Engine::settle(Claim& claim) {
  Stage& stage = *claim.stage;
  stage.running--;
  running_--;
  LaneUse& use = lanes_[static_cast<std::size_t>(stage.lane)];
  if (stage.spec.kind != Kind::source) use.running--;
  if (claim.quick) use.quick--;
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
    if (stage.fast() != std::exchange(stage.was_fast, stage.fast())) choose_capacities(stage);
  }
  claim.clear();
}

// The results of an abandoned task, or of a stage the failed pipeline no longer listens to.
void Engine::discard_results(Claim& claim) {
  for (auto& emitted : claim.out) after_.discarded.push_back(std::move(emitted.output.item));
  for (auto& held : claim.held) after_.discarded.push_back(std::move(held.task->item));
  if (claim.task) after_.discarded.push_back(std::move(claim.task->item));
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
  if (!claim.uncounted) {
    // A poll or a stream is timed per output.
    stage.record_tasks((claim.ended != 0 ? claim.ended : now()) - claim.started,
                       std::max(inputs, outputs));
    count_tasks(claim, static_cast<std::uint64_t>(inputs), static_cast<std::uint64_t>(outputs));
  }
  // A failure takes its item's place among the outputs, so that it is judged in its turn.
  for (Claim::Failed& failed : claim.errors) {
    claim.out.push_back(
        {{Item::of(Failure{std::move(failed.error), failed.fatal, failed.silent}), 0},
         failed.index});
  }
  publish_outputs(claim, inputs);
  publish_held(claim);
  if (claim.source_done) stage.source_done = true;
  if (claim.epoch_end) forward(stage, Mark::epoch_end);
  if (stage.failures > 0 && !stage.muted && too_many(stage)) {
    fail_from(stage, Error(Code::failed, stage.spec.name + ": too many of its tasks failed"), true);
  }
}

void Engine::count_tasks(const Claim& claim, std::uint64_t inputs, std::uint64_t outputs) {
  Stage& stage = *claim.stage;
  if (stage.spec.kind == Kind::source) return;
  const std::uint64_t over = inputs - claim.held.size();
  const auto steps = stage.spec.kind == Kind::stream ? static_cast<std::uint64_t>(claim.steps) : 0;
  stage.processed += over;
  stage.steps += steps;
  if (!stage.spec.routes) processed_ += over + steps;
  if (stage.spec.kind == Kind::pipe && !stage.spec.gathers) {
    stage.dropped += over - outputs - claim.errors.size();
  }
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

  // A flush has no place in the order: everything else has left.
  const bool flush = claim.what == Claim::What::flush || (claim.task && claim.task->flush);
  if (poll || flush || !stage.ordered()) {
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
    if (stage.muted || stage.source_done) {
      stage.release(std::exchange(task.reserved, 0));
      after_.discarded.push_back(std::move(task.item));
      continue;
    }
    task.number = claim.number + static_cast<std::uint64_t>(held.index);
    task.parked = true;
    stage.parked++;
    stage.yielded |= !held.blocked && claim.out.empty();
    if (held.blocked && !task.woken) {
      stage.blocked.push_back(std::move(held.task));
    } else {
      stage.ready.push_back(std::move(held.task));
    }
  }
}

// A failed task in its turn: reported, then delivered, dropped or, if it was one too many, the end.
void Engine::settle_failure(Stage& stage, Failure failure) {
  stage.failures++;
  failed_++;
  if (reports_.size() < kept_failures_)
    reports_.push_back({stage.spec.name, failure.error, stage.processed});
  if (report_failure_ && !failure.silent) {
    after_.reports.push_back({stage.spec.name, failure.error, stage.processed});
  } else {
    after_.discarded.push_back(Item::of(Error(failure.error)));  // not to be freed under the lock
  }
  if (failure.fatal || stage.spec.kind == Kind::source) {
    stage.release(1);
    fail_from(stage, std::move(failure.error));
  } else if (on_failure_ == OnFailure::deliver) {
    put(stage, {Item::of(std::move(failure)), 0});
  } else {
    stage.release(1);
    if (too_many(stage)) fail_from(stage, std::move(failure.error), true);
  }
}

FailureCounts Engine::counts_of(const Stage& stage) const {
  return {stage.processed + stage.steps, stage.failures, processed_, failed_};
}

bool Engine::too_many(const Stage& stage) const {
  if (on_failure_ == OnFailure::deliver || stage.spec.kind == Kind::source) return false;
  const FailureLimit& limit = stage.spec.options.too_many_failures
                                  ? stage.spec.options.too_many_failures
                                  : too_many_failures_;
  return limit && limit(counts_of(stage));
}

void Engine::publish_rows(Claim& claim) {
  Stage& stage = *claim.stage;
  if (claim.rows_done > 0)
    stage.record_tasks((claim.ended != 0 ? claim.ended : now()) - claim.started, claim.rows_done);
  OpenTicket& ticket = *claim.ticket;
  ticket.workers--;
  if (ticket.left.load(std::memory_order_acquire) == 0 && ticket.workers == 0) {
    finish_ticket(stage, ticket);
  }
}

// All rows are done and nobody is inside any more.
void Engine::finish_ticket(Stage& stage, OpenTicket& ticket) {
  Item output = std::move(ticket.item);
  if (ticket.error) {
    after_.discarded.push_back(std::move(output));
    output = Item::of(Failure{std::move(*ticket.error), false});
    ticket.error.reset();
  }
  stage.processed++;
  processed_++;
  stage.window.add_output(ticket.number, {std::move(output), 0});
  stage.window.complete(ticket.number);
  const auto at = std::find_if(stage.open.begin(), stage.open.end(),
                               [&](const auto& one) { return one.get() == &ticket; });
  stage.spare.push_back(std::move(*at));
  stage.open.erase(at);
  drain_window(stage);
}

void Engine::drain_window(Stage& stage) {
  while (std::optional<Output> output = stage.window.next()) send(stage, std::move(*output));
}

// An output leaves its stage, in its turn.
void Engine::send(Stage& stage, Output output) {
  if (stage.muted) {
    stage.release(1);
    after_.discarded.push_back(std::move(output.item));
  } else if (Passing* passing = output.item.get_if_is<Passing>()) {
    put(stage, {std::move(passing->failure), 0});
  } else if (Failure* failure = output.item.get_if_is<Failure>()) {
    settle_failure(stage, std::move(*failure));
  } else if (static_cast<std::size_t>(output.port) >= stage.out.size()) {
    after_.discarded.push_back(std::move(output.item));
    settle_failure(stage,
                   {Error(Code::out_of_range,
                          stage.spec.name + ": chose path " + std::to_string(output.port) + " of " +
                              std::to_string(stage.out.size()) + "; paths count from 0"),
                    true});
  } else {
    put(stage, std::move(output));
  }
}

// Puts something for which room is reserved into its queue.
void Engine::put(Stage& stage, Output output) {
  stage.release(1);
  stage.items_out++;
  Queue& queue = *stage.out[static_cast<std::size_t>(output.port)];
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
      // A stage that fails at a barrier leaves it.
      stage.barriers -= static_cast<int>(std::erase(queue->waiting, &stage));
      queue->ended++;
    } else {
      queue->waiting.push_back(&stage);
      stage.barriers++;
    }
    if (queue->ended + queue->waiting.size() < queue->producers.size()) continue;
    if (queue->waiting.empty()) {
      queue->push(Item::of(Mark::end));
      continue;
    }
    queue->push(Item::of(Mark::epoch_end));
    const std::vector<Stage*> released = std::exchange(queue->waiting, {});
    for (Stage* producer : released) producer->barriers--;
    for (Stage* producer : released) end_if_over(*producer);
  }
}

// A delivered failure passes through a stage in its item's place. It was counted where it began.
void Engine::pass_failure(Stage& stage, Item failure) {
  stage.reserve(1);
  if (stage.ordered()) {
    const std::uint64_t number = stage.window.enter();
    stage.window.add_output(number, {Item::of(Passing{std::move(failure)}), 0});
    stage.window.complete(number);
    drain_window(stage);
  } else {
    put(stage, {std::move(failure), 0});
  }
}

// The pipeline has failed at this stage. What comes before it is dropped and so is what it has
// under way; what is behind it flows out, then the consumer gets the error.
void Engine::fail_from(Stage& stage, Error error, bool too_many) {
  if (!failure_) failure_.emplace(error);
  fatal_.push_back({&stage, std::move(error), counts_of(stage), too_many});
  mute(stage);
  // Sources of branches that still flow end as if they were exhausted.
  for (const auto& other : stages_) {
    if (other->spec.kind != Kind::source || other->muted) continue;
    other->source_done = true;
    drop_parked(*other);
    end_if_over(*other);
  }
}

void Engine::mute(Stage& stage) {
  if (stage.muted) return;
  stage.muted = true;
  if (!stage.ended) forward(stage, Mark::end);  // other branches may wait for it
  stage.window.clear([&](Item&& item) {
    stage.release(1);
    after_.discarded.push_back(std::move(item));
  });
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

// Sends the end mark of a source that will never have an output again.
void Engine::end_if_over(Stage& stage) {
  if (stage.source_done && !stage.ended && !stage.muted && stage.barriers == 0 && stage.quiet()) {
    forward(stage, Mark::end);
  }
}

}  // namespace penstock::engine

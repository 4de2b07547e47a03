// Which task is next. Everything here runs under the engine's lock.
#include <algorithm>

#include "engine/engine.h"

namespace penstock::engine {

namespace {

bool can_take_input(const Stage& stage) {
  if (stage.room() <= 0 || stage.in->empty()) return false;
  return !stage.in->front().is<Mark>() || stage.quiet();
}

// The ready task that may go on now, or the end. With outputs in input order only the oldest task
// may ask for more room. It always gets it once its outputs are read: younger ones may have taken
// all that was left, and they cannot leave before it.
auto find_resumable(const Stage& stage) {
  return std::find_if(stage.ready.begin(), stage.ready.end(), [&](const auto& task) {
    if (task->reserved > 0) return true;
    if (!stage.ordered()) return stage.room() > 0;
    return stage.window.is_head(task->number) && (stage.room() > 0 || stage.outputs_are_read());
  });
}

}  // namespace

bool Engine::claim_next(int lane, int most, Claim& claim, bool helps) {
  if (state_ != State::running || stopping()) return false;
  // A stage whose last task only asked for another turn comes after all others.
  const std::size_t count = stages_.size();
  for (std::size_t k = 0; k < 2 * count; ++k) {
    const std::size_t i = k % count;
    Stage& stage = *stages_[i];
    if (stage.lane != lane || stage.yielded != (k >= count)) continue;
    if (helps && !stage.may_be_helped()) continue;
    if (!lane_has_room(stage) || !try_claim(stage, most, claim)) continue;
    stage.yielded = false;
    stage.running++;
    running_++;
    // Looking for more work at length pays if the consumer takes turns, or if neither others of the
    // lane nor native workers need a core meanwhile.
    LaneUse& use = lanes_[static_cast<std::size_t>(lane)];
    claim.patient = takes_turns_ || (use.running == 0 && lanes_[0].running == 0);
    if (stage.spec.kind != Kind::source) use.running++;
    claim.stage = &stage;
    claim.started = now();
    claim.quick = stage.quick();
    if (claim.quick) {
      use.quick++;
      use.quick_at = claim.started;
    }
    stage.touch(claim.started);
    // Stages at the same distance take turns: a fast branch of a merge must not starve the others.
    const auto at = stages_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto peers_end = stages_.begin() + stage.peers_end;
    if (at + 1 != peers_end) std::rotate(at, at + 1, peers_end);
    return true;
  }
  return false;
}

bool Engine::lane_has_room(const Stage& stage) const {
  const LaneUse& use = lanes_[static_cast<std::size_t>(stage.lane)];
  return stage.spec.kind == Kind::source || use.running < use.limit;
}

bool Engine::can_resume(const Stage& stage) const {
  return !stage.ready.empty() && find_resumable(stage) != stage.ready.end();
}

// True when try_claim would do something: hand out a task, or move a mark on.
bool Engine::can_claim(const Stage& stage) const {
  if (stage.ended || stage.muted || stage.barriers > 0) return false;
  if (can_resume(stage)) return true;
  if (!stage.has_token()) return false;
  if (stage.spec.kind == Kind::source) return !stage.source_done && stage.room() > 0;
  if (stage.spec.kind == Kind::fill &&
      std::any_of(stage.open.begin(), stage.open.end(),
                  [](const auto& ticket) { return ticket->claimable(); })) {
    return true;
  }
  return can_take_input(stage);
}

bool Engine::try_claim(Stage& stage, int most, Claim& claim) {
  while (can_claim(stage)) {
    if (can_resume(stage)) {
      resume(stage, claim);
      return true;
    }
    if (stage.spec.kind == Kind::source) {
      claim.what = Claim::What::poll;
      if (stage.source_task) stage.source_task->woken = false;
      claim.budget = std::min({stage.room(), most, stage.burst()});
      stage.reserve(claim.budget);
      return true;
    }
    if (stage.spec.kind == Kind::fill) {
      if (take_rows(stage, claim)) return true;
      // Rows are claimed without the lock: those that can_claim saw may be gone.
      if (!can_take_input(stage)) return false;
    }

    Item& head = stage.in->front();
    if (const Mark* mark = head.get_if_is<Mark>()) {
      if (stage.spec.options.flush && !stage.flushed) {
        stage.flushed = true;
        claim.what = Claim::What::flush;
        claim.mark = *mark;
        claim.budget = 1;
        stage.reserve(1);
        return true;
      }
      const Mark passed = *mark;
      take_input(stage);
      stage.flushed = false;
      forward(stage, passed);
    } else if (head.is<Failure>()) {
      pass_failure(stage, take_input(stage));
    } else if (stage.spec.kind == Kind::fill) {
      open_ticket(stage);
    } else {
      take_items(stage, most, claim);
      return true;
    }
  }
  return false;
}

Item Engine::take_input(Stage& stage) {
  stage.in->sample_size();
  Item item = stage.in->pop();
  for (Stage* producer : stage.in->producers) {
    if (producer->condition == Condition::blocked) producer->touch(now());
  }
  return item;
}

void Engine::resume(Stage& stage, Claim& claim) {
  const auto at = find_resumable(stage);
  claim.task = *at;
  stage.ready.erase(at);
  stage.parked--;
  claim.task->parked = false;
  claim.task->woken = false;
  claim.what = stage.spec.kind == Kind::source ? Claim::What::poll : Claim::What::resumed;
  claim.number = claim.task->number;
  claim.budget = std::exchange(claim.task->reserved, 0);
  if (claim.budget == 0) {
    claim.budget = std::max(1, std::min(stage.room(), stage.burst()));
    stage.reserve(claim.budget);
  }
}

void Engine::take_items(Stage& stage, int most, Claim& claim) {
  claim.what = Claim::What::items;
  claim.position = stage.items_in;
  claim.taken = stage.in->popped();
  // A stage with many outputs per input takes one input and room for several outputs.
  const bool many = stage.spec.kind == Kind::stream;
  int n = std::min({stage.room(), most, stage.burst()});
  if (many && stage.ordered()) n = 1;  // see find_resumable
  for (int i = 0; i < (many ? 1 : n) && !stage.in->empty(); ++i) {
    Item& head = stage.in->front();
    if (head.is<Mark>() || head.is<Failure>()) break;
    claim.in[static_cast<std::size_t>(claim.count++)] = take_input(stage);
    if (stage.ordered()) {
      const std::uint64_t number = stage.window.enter();
      if (i == 0) claim.number = number;
    }
  }
  stage.items_in += static_cast<std::uint64_t>(claim.count);
  claim.budget = many ? n : claim.count;
  stage.reserve(claim.budget);
}

bool Engine::take_rows(Stage& stage, Claim& claim) {
  for (const auto& ticket : stage.open) {
    if (!ticket->claimable()) continue;
    ticket->workers++;
    claim.what = Claim::What::rows;
    claim.ticket = ticket.get();
    claim.budget = stage.burst();  // rows taken at once
    return true;
  }
  return false;
}

void Engine::open_ticket(Stage& stage) {
  std::unique_ptr<OpenTicket> ticket;
  if (stage.spare.empty()) {
    ticket = std::make_unique<OpenTicket>();
  } else {
    ticket = std::move(stage.spare.back());
    stage.spare.pop_back();
  }
  ticket->taken = stage.in->popped();
  ticket->item = take_input(stage);
  ticket->error.reset();
  ticket->rows = 0;
  try {
    ticket->rows = stage.spec.rows(ticket->item);
  } catch (const std::exception& thrown) {
    ticket->error = Error(Code::failed, stage.spec.name + ": " + thrown.what());
  }
  ticket->next.store(0, std::memory_order_relaxed);
  ticket->left.store(ticket->rows, std::memory_order_relaxed);
  ticket->number = stage.window.enter();
  stage.reserve(1);
  stage.items_in++;
  stage.open.push_back(std::move(ticket));
  if (stage.open.back()->rows == 0) finish_ticket(stage, *stage.open.back());
}

}  // namespace penstock::engine

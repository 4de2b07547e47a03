// Carrying out what was claimed. Nothing here holds the engine's lock.
#include <cxxabi.h>

#include <algorithm>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/stopping.h"
#include "engine/trace.h"

namespace penstock::engine {

namespace {

// A worker looks at the rest of the pipeline at least this often.
constexpr std::int64_t kSliceNs = 200'000;

std::shared_ptr<ParkedTask> make_task(Engine& engine, Stage& stage) {
  auto task = std::make_shared<ParkedTask>();
  task->engine = engine.weak_from_this();
  task->stage = &stage;
  return task;
}

// One slice for the rows since the last one.
void trace_rows(Claim& claim, std::size_t first, std::size_t count) {
  TraceSlice slice;
  slice.kind = TraceSlice::Kind::rows;
  slice.count = static_cast<std::uint32_t>(count);
  slice.start = std::max(claim.started, claim.traced_until);
  slice.end = claim.traced_until = now_ns();
  slice.name = traced_name(*claim.stage);
  slice.position = first;
  slice.batch = claim.ticket->number;
  slice.in = {claim.ticket->taken, claim.stage->in->number, 1};
  trace(slice);
}

Step greedy(const Stage& stage, Context& ctx) {
  return ctx.fail(
      Error(Code::invalid_argument,
            stage.spec.name + ": a pipe emits one output and is done; use stream for more"));
}

}  // namespace

// A user's function may throw; what it throws becomes an Error. The exception that unwinds a
// thread which is being cancelled is not ours to stop.
Step Engine::call(Stage& stage, const StepFunction& step, Context& ctx) {
  ctx.emitted_ = 0;
  try {
    const Step next = step(ctx);
    if (ctx.emitted_ < 2) return next;
    return ctx.fail(Error(Code::invalid_argument,
                          stage.spec.name + ": a step emitted twice; return again in between"));
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& thrown) {
    return ctx.fail(Error(Code::failed, stage.spec.name + ": " + thrown.what()));
  } catch (...) {
    return ctx.fail(Error(Code::failed, stage.spec.name + ": unknown exception"));
  }
}

void Engine::run(Claim& claim, unsigned worker) {
  claim.ran = true;
  const InTask here(stopping_);
  if (claim.what == Claim::What::rows) {
    run_rows(claim, worker);
    return;
  }
  Context ctx;
  ctx.worker_ = worker;
  ctx.engine_ = this;
  ctx.stage_ = claim.stage;
  if (claim.what == Claim::What::items && claim.stage->spec.kind == Kind::pipe) {
    run_items(claim, ctx);
  } else {
    run_many(claim, ctx);
  }
}

// One output at most for each input.
void Engine::run_items(Claim& claim, Context& ctx) {
  Stage& stage = *claim.stage;
  for (int i = 0; i < claim.count; ++i) {
    Item& item = claim.in[static_cast<std::size_t>(i)];
    ctx.item_ = &item;
    ctx.position_ = claim.position + static_cast<std::uint64_t>(i);
    if (stopping()) {  // nothing of this will be delivered
      item.reset();
      continue;
    }
    Step step = call(stage, stage.spec.step, ctx);
    if (ctx.emitted_ > 0 && step != Step::done && step != Step::failed) step = greedy(stage, ctx);
    if (step == Step::failed) {
      claim.errors.push_back({i, std::move(*ctx.error_), ctx.fatal_});
      ctx.error_.reset();
    } else if (step == Step::done) {
      if (ctx.emitted_ > 0) claim.out.push_back({{std::move(ctx.out_), ctx.port_}, i});
    } else {
      auto task = ctx.parked_ ? std::move(ctx.parked_) : make_task(*this, stage);
      task->item = std::move(item);
      task->position = ctx.position_;
      claim.held.push_back({i, std::move(task), step == Step::blocked});
    }
    ctx.parked_.reset();
    item.reset();
  }
}

// Sources, streams, flushes and tasks that go on: steps of one task until it is over, blocked, or
// has used up the room it was given.
void Engine::run_many(Claim& claim, Context& ctx) {
  Stage& stage = *claim.stage;
  const bool source = stage.spec.kind == Kind::source;
  const bool one_output = stage.spec.kind == Kind::pipe;
  const bool flush = claim.what == Claim::What::flush || (claim.task && claim.task->flush);
  const StepFunction& function = flush ? stage.spec.options.flush : stage.spec.step;
  ctx.item_ = claim.task ? &claim.task->item : &claim.in[0];
  ctx.position_ = claim.task ? claim.task->position : claim.position;
  ctx.parked_ = claim.task;
  if (source) {
    // A source is one task for life: a waker it was given once stays good.
    if (!stage.source_task) stage.source_task = make_task(*this, stage);
    ctx.parked_ = stage.source_task;
  }

  Step step = Step::again;
  while (step == Step::again && !stopping()) {
    step = call(stage, function, ctx);
    claim.steps += step == Step::again;
    if (ctx.emitted_ > 0 && step != Step::failed) {
      claim.out.push_back({{std::move(ctx.out_), ctx.port_}, 0});
      if (step != Step::done && one_output && !flush) {
        claim.out.clear();
        step = greedy(stage, ctx);
      }
    }
    if (ctx.epoch_end_) {
      claim.epoch_end = true;
      break;
    }
    if (static_cast<int>(claim.out.size()) >= claim.budget) break;
    if (step == Step::again && ctx.emitted_ == 0) break;  // others shall have a turn
  }

  if (step == Step::failed) {
    claim.errors.push_back({0, std::move(*ctx.error_), ctx.fatal_});
  } else if (source) {
    claim.source_done = step == Step::done;
  }
  if (step == Step::blocked || (step == Step::again && !source)) {
    auto task = ctx.parked_ ? std::move(ctx.parked_) : make_task(*this, stage);
    if (!claim.task) task->item = std::move(claim.in[0]);
    task->flush = flush;
    task->position = ctx.position_;
    claim.held.push_back({0, std::move(task), step == Step::blocked});
  }
  ctx.parked_.reset();
  claim.in[0].reset();
  // A task that is over lets go of its item here, not under the lock, whoever still has its waker.
  if (claim.task && claim.held.empty()) claim.task->item.reset();
}

void Engine::run_rows(Claim& claim, unsigned worker) {
  Stage& stage = *claim.stage;
  OpenTicket& ticket = *claim.ticket;
  const auto chunk = static_cast<std::size_t>(claim.budget);
  while (!stopping()) {
    const std::size_t first = ticket.next.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= ticket.rows) break;
    const std::size_t last = std::min(first + chunk, ticket.rows);
    for (std::size_t row = first; row < last; ++row) {
      Status status;
      try {
        status = stage.spec.row(ticket.item, row, worker);
      } catch (abi::__forced_unwind&) {
        throw;
      } catch (const std::exception& thrown) {
        status = Error(Code::failed, stage.spec.name + ": " + thrown.what());
      } catch (...) {
        status = Error(Code::failed, stage.spec.name + ": unknown exception");
      }
      if (status.ok()) continue;
      std::lock_guard hold(ticket.error_lock);
      if (!ticket.error || row < ticket.error_row) {
        ticket.error_row = row;
        ticket.error = std::move(status).error();
      }
    }
    const std::size_t done = last - first;
    claim.rows_done += static_cast<int>(done);
    if (tracing()) trace_rows(claim, first, done);
    if (ticket.left.fetch_sub(done, std::memory_order_acq_rel) == done) {
      claim.ticket_done = true;
      break;
    }
    if (now_ns() - claim.started > kSliceNs) break;
  }
}

}  // namespace penstock::engine

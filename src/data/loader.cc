#include "data/loader.h"

#include <algorithm>

#include "data/admission.h"
#include "data/row_work.h"

namespace penstock::data {
namespace {

// Neighbouring rows of a batch on their way through calls. Small enough to travel inside an Item.
struct SomeRows {
  BatchPtr batch;
  std::uint32_t first = 0, count = 0;
};

// How many rows travel together: as many as can be without a caller going idle for it.
std::size_t rows_travelling(std::size_t rows, int concurrency) {
  return std::clamp<std::size_t>(rows / (4 * static_cast<std::size_t>(concurrency)), 1, 32);
}

// What a stage does, from its steps: "read, decode_image jpg".
std::string words(std::string first, std::initializer_list<std::span<const StepPtr>> steps) {
  for (const std::span<const StepPtr> chain : steps) {
    for (const StepPtr& step : chain) {
      const std::string name = step->name();
      if (!name.empty()) first += (first.empty() ? "" : ", ") + name;
    }
  }
  return first;
}

std::string name_of_reading(const LoaderPlan& plan, bool streamed) {
  const bool reads = !streamed && std::any_of(plan.sources.begin(), plan.sources.end(),
                                              [](const auto& one) { return !one->elsewhere(); });
  std::string name = reads ? "read" : "";
  for (const auto& own : plan.own_steps) {
    const std::string done = words("", {own});
    if (!done.empty() && name.find(done) == std::string::npos) name += ", " + done;
  }
  name = words(std::move(name), {plan.segments[0].steps});
  return name.empty() ? "rows" : name;
}

// Two batches are filled at a time: their parts are for all workers. What is only copied, or shares
// a chunk with its neighbours, stays together.
std::size_t rows_of_part(const LoaderPlan& plan, const RunOptions& options) {
  if (!plan.placed.empty()) return std::max<std::size_t>(plan.together, 1);
  const auto threads = static_cast<std::size_t>(std::max(options.threads, 1));
  const auto share = static_cast<std::size_t>(2 * options.share.batch) / threads;
  return std::max<std::size_t>(std::min(plan.together, share), 1);
}

constexpr char kCollate[] = "collate";

std::uint64_t bytes_of(const Value& value) {
  if (const auto* bytes = std::get_if<Bytes>(&value)) return bytes->bytes.size();
  if (const auto* text = std::get_if<Text>(&value)) return text->bytes.size();
  if (const auto* tensor = std::get_if<Tensor>(&value)) return tensor->nbytes();
  return 0;
}

std::uint64_t bytes_of(const Batch& batch) {
  std::uint64_t all = 0;
  for (const Column& column : batch.columns) {
    if (const auto* one = std::get_if<Tensor>(&column.values)) all += one->nbytes();
    if (const auto* ragged = std::get_if<Ragged>(&column.values)) {
      all += ragged->values.nbytes() + ragged->offsets.nbytes();
    }
    if (const auto* values = std::get_if<std::vector<Value>>(&column.values)) {
      for (const Value& value : *values) all += bytes_of(value);
    }
  }
  return all;
}

using RowFunction = std::function<void(Batch&, std::size_t)>;
using RowsDone = std::function<void(std::size_t)>;

// What is told of the rows that the stage at this place is through with.
RowsDone count_rows(const RunOptions& options, std::size_t place) {
  if (!options.traffic) return [](std::size_t) {};
  Traffic::Rows& rows = options.traffic->rows.emplace_back(place);
  return [traffic = options.traffic, &rows](std::size_t done) {
    rows.done.fetch_add(done, std::memory_order_relaxed);
  };
}

void add_row_stage(PipelineBuilder& builder, std::string name, int concurrency,
                   std::shared_ptr<Lane> lane, RowFunction work, RowsDone done) {
  builder.pipe(std::move(name),
               [work = std::move(work), done = std::move(done)](Context& ctx) {
                 SomeRows* some = ctx.item().get<SomeRows>();
                 for (std::uint32_t i = 0; i < some->count; ++i) {
                   if (ctx.stopping()) return Step::done;
                   work(*some->batch, some->first + i);
                 }
                 done(some->count);
                 ctx.emit(std::move(ctx.item()));
                 return Step::done;
               },
               {.concurrency = concurrency,
                .order = penstock::Order::input,
                .queue_size = 4 + 2 * concurrency,
                .lane = std::move(lane)});
}

// The calls of a plan and the steps between them.
void add_call_stages(PipelineBuilder& builder, const LoaderPlan& plan, const RunOptions& options,
                     const std::shared_ptr<const RowWork>& rows) {
  int most = 1;
  for (const Segment& segment : plan.segments) {
    if (segment.call) most = std::max(most, segment.concurrency);
  }
  builder.stream("rows of batches",
                 [most](BatchPtr batch) {
                   // Counted now: once the last row is out the batch is no longer ours to look at.
                   return [batch, rows = batch->work.size(),
                           together = rows_travelling(batch->work.size(), most),
                           next = std::size_t{0}]() mutable -> std::optional<SomeRows> {
                     if (next == rows) return std::nullopt;
                     const std::size_t first = next;
                     next = std::min(rows, next + together);
                     return SomeRows{batch, static_cast<std::uint32_t>(first),
                                     static_cast<std::uint32_t>(next - first)};
                   };
                 },
                 {.queue_size = 4 + 2 * most});
  std::size_t place = 3;  // behind `admit`, `read` and these
  const std::size_t last = plan.segments.size();
  for (std::size_t i = 0; i < last; ++i) {
    const Segment& segment = plan.segments[i];
    if (i > 0 && !segment.steps.empty()) {
      const std::string name = words("", {segment.steps});
      add_row_stage(
          builder, name.empty() ? "steps " + std::to_string(i) : name, std::max(1, options.threads),
          {}, [rows, i](Batch& batch, std::size_t row) { rows->steps(batch, row, i); },
          count_rows(options, place++));
    }
    if (!segment.call) continue;
    // Calls that follow one another, and may run as often at once, are one stage.
    std::size_t end = i + 1;
    std::string name = segment.call_name;
    while (end < last && plan.segments[end].call && plan.segments[end].steps.empty() &&
           plan.segments[end].concurrency == segment.concurrency) {
      name += ", " + plan.segments[end++].call_name;
    }
    add_row_stage(
        builder, std::move(name), segment.concurrency, options.calls,
        [rows, i, end](Batch& batch, std::size_t row) {
          for (std::size_t k = i; k < end; ++k) rows->call(batch, row, k);
        },
        count_rows(options, place++));
    i = end - 1;
  }
  if (plan.replace) {
    add_row_stage(
        builder, "replace", 1, options.calls,
        [rows](Batch& batch, std::size_t row) { rows->replace(batch, row); },
        count_rows(options, place++));
  }
  // Rows come in order: the last one of a batch is the last to arrive.
  builder.pipe("gather",
               [](SomeRows some) -> std::optional<BatchPtr> {
                 if (some.first + some.count < some.batch->work.size()) return std::nullopt;
                 return std::move(some.batch);
               },
               {.queue_size = 1});
}

}  // namespace

void add_stages(PipelineBuilder& builder, PlanPtr plan, const RunOptions& options) {
  const auto rows = std::make_shared<const RowWork>(plan, options);
  const bool in_memory =
      !options.stream && std::all_of(plan->sources.begin(), plan->sources.end(),
                                     [](const auto& one) { return one->in_memory(); });
  if (options.stream) {
    builder.add_source("stream", options.stream, {.queue_size = 1, .lane = options.calls});
  } else {
    // Step functions are copied, batches are not: hence the pointer.
    const auto admission = std::make_shared<Admission>(plan, options);
    builder.add_source("admit", [admission](Context& ctx) { return (*admission)(ctx); },
                       {.queue_size = 1, .consumer_helps = in_memory});
  }
  const std::size_t together = rows_of_part(*plan, options);
  builder.fill<BatchPtr>(
      name_of_reading(*plan, static_cast<bool>(options.stream)),
      [together](const BatchPtr& batch) { return (batch->work.size() + together - 1) / together; },
      [rows, together, done = count_rows(options, 1)](BatchPtr& batch, std::size_t part) -> Status {
        const std::size_t first = part * together;
        const std::size_t last = std::min(first + together, batch->work.size());
        rows->read(*batch, first, last);
        done(last - first);
        return {};
      },
      {.queue_size = 1, .consumer_helps = in_memory});
  if (plan->calls()) add_call_stages(builder, *plan, options, rows);
  // Rows that do not fit are found only here, and those in their place may need calls.
  const bool may_call = plan->calls() && plan->replace;
  builder.pipe(
      kCollate,
      [rows, plan, collator = options.collator, traffic = options.traffic](BatchPtr batch) {
        Collator::Replace replace;
        if (plan->replace) {
          replace = [&](std::size_t row, const Collator::Fits& fits) {
            rows->replace(*batch, row, fits);
          };
        }
        collator->finish(
            *batch, [&](std::size_t row) { return rows->name(*batch, row); }, plan->placed,
            replace);
        if (traffic) {
          traffic->read += batch->encoded;
          traffic->made += bytes_of(*batch);
        }
        return batch;
      },
      {.queue_size = 1,
       .lane = may_call ? options.calls : nullptr,
       .consumer_helps = in_memory || !plan->replace});
  if (options.on_batch) {
    builder.pipe("batch",
                 [on_batch = options.on_batch](BatchPtr batch) {
                   if (batch->kept > 0 && !batch->failure) {
                     Status status = on_batch(*batch);
                     if (!status) batch->failure = std::move(status).error();
                   }
                   return batch;
                 },
                 {.queue_size = 1, .lane = options.calls});
  }
  builder.add_sink(std::max(1, options.prefetch));
}

void add_traffic(PipelineStats& stats, const Traffic& traffic) {
  if (stats.stages.size() < 2) return;
  stats.stages[1].bytes = traffic.read;  // behind the source
  const auto collate = std::find_if(stats.stages.rbegin(), stats.stages.rend(),
                                    [](const StageStats& one) { return one.name == kCollate; });
  if (collate != stats.stages.rend()) collate->bytes = traffic.made;
  for (const Traffic::Rows& rows : traffic.rows) {
    StageStats& stage = stats.stages[rows.stage];
    const std::uint64_t done = rows.done.load(std::memory_order_relaxed);
    if (stage.tasks == 0 || done <= stage.tasks) continue;
    const double share = static_cast<double>(stage.tasks) / static_cast<double>(done);
    stage.tasks = done;
    stage.mean_seconds *= share;
    stage.p50_seconds *= share;
    stage.p99_seconds *= share;
  }
}

}  // namespace penstock::data

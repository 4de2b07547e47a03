// The public Loader: runs a Dataset's plan epoch by epoch, judges errors, counts positions.
#include <algorithm>
#include <utility>

#include "data/batch_size.h"
#include "data/dataset_plan.h"
#include "data/loader.h"
#include "penstock/pipeline.h"

namespace penstock {

struct Loader::Run {
  data::PlanPtr plan;
  LoaderOptions options;
  data::Share share;
  std::uint64_t data_digest = 0;
  std::shared_ptr<WorkerPool> workers;
  std::shared_ptr<BufferPool> budget, encoded;
  std::shared_ptr<data::Collator> collator;
  std::uint64_t epoch = 0;
  std::uint64_t start = 0;     // of the run under way, or where the next one begins
  std::uint64_t position = 0;  // what comes before it was delivered
  std::optional<Pipeline> pipeline;

  std::optional<std::uint64_t> length() const { return plan->order.length(); }
  data::Rounds rounds() const { return {share, length(), start}; }

  Status begin() {
    data::RunOptions run;
    run.share = share;
    run.epoch = epoch;
    run.start = start;
    run.prefetch = options.prefetch;
    run.threads = static_cast<int>(workers->threads());
    run.budget = budget;
    run.encoded = encoded;
    run.collator = collator;
    if (Status status = data::check_batch(*plan, run); !status) return status;
    PipelineBuilder stages;
    data::add_stages(stages, plan, run);
    BuildOptions build;
    build.pool = workers;
    build.on_failure = OnFailure::deliver;
    Result<Pipeline> made = stages.build(std::move(build));
    if (!made) return std::move(made).error();
    if (Status status = made->start(); !status) return status;
    pipeline = *std::move(made);
    position = start;
    return {};
  }

  void end() {
    pipeline.reset();  // stops it
    start = 0;
  }
};

Loader::Loader(std::unique_ptr<Run> run) : run_(std::move(run)) {}
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

std::uint64_t Loader::epoch() const noexcept {
  return run_->epoch;
}

std::optional<std::uint64_t> Loader::batches() const {
  return data::Rounds(run_->share, run_->length(), 0).batches();
}

Result<std::optional<Batch>> Loader::next() {
  Run& run = *run_;
  if (!run.pipeline) {
    if (Status status = run.begin(); !status) return std::move(status).error();
  }
  for (;;) {
    Result<std::optional<data::BatchPtr>> got = run.pipeline->next<data::BatchPtr>();
    if (!got) {
      run.end();
      return std::move(got).error();
    }
    if (!*got) {
      run.end();
      run.position = 0;
      ++run.epoch;
      return std::optional<Batch>();
    }
    data::Batch& from = ***got;
    Batch batch;
    for (data::RowError& one : from.errors) {
      const bool fatal = run.options.on_error != OnError::skip || one.error.code() == Code::io;
      if (fatal && !one.replaced) {
        run.end();
        return std::move(one.error);
      }
      if (!one.filling) {
        batch.errors_.push_back({one.position, std::move(one.sample), std::move(one.error)});
      }
    }
    if (from.failure) {
      run.end();
      return *std::move(from.failure);
    }
    if (from.kept == 0 && run.share.world > 1) {
      run.end();
      return Error(Code::failed,
                   "no row is left of a batch, and ranks must not fall out of step: replace rows "
                   "that fail instead of skipping them");
    }
    run.position = run.rounds().after(from.number + 1);
    batch.rows_ = from.kept;
    batch.epoch_ = from.epoch;
    for (data::Column& column : from.columns) {
      Batch::Column& made = batch.columns_.emplace_back();
      made.name = std::move(column.name);
      if (auto* array = std::get_if<Tensor>(&column.values)) {
        array->buffer().give_to_user();
        made.array = std::move(*array);
      } else if (auto* list = std::get_if<std::vector<data::Value>>(&column.values)) {
        std::vector<Buffer> memory;
        memory.reserve(list->size());
        for (data::Value& value : *list) {
          const auto* text = std::get_if<data::Text>(&value);
          const data::Bytes* bytes = text != nullptr ? text : std::get_if<data::Bytes>(&value);
          if (bytes == nullptr) {
            made.list.emplace_back();
            continue;
          }
          memory.push_back(bytes->memory);
          made.list.push_back({bytes->bytes, bytes->memory});
        }
        Buffer::give_to_user(memory);
      }
    }
    if (batch.rows_ > 0 || !batch.errors_.empty()) return std::optional<Batch>(std::move(batch));
  }
}

Token Loader::token() const {
  const Run& run = *run_;
  Token token{run.epoch, run.position, run.data_digest, run.plan->order.digest()};
  if (run.length() && token.position >= *run.length()) ++token.epoch, token.position = 0;
  return token;
}

Status Loader::resume(const Token& token) {
  Run& run = *run_;
  if (token.data != run.data_digest) {
    return Error(Code::invalid_argument, "resume: the token is of other data");
  }
  if (token.order != run.plan->order.digest()) {
    return Error(Code::invalid_argument,
                 "resume: the token is of another order, and its position means something else "
                 "here");
  }
  if (run.length() && token.position > *run.length()) {
    return Error(Code::invalid_argument, "resume: the token is damaged: it is beyond the end");
  }
  run.end();
  run.epoch = token.epoch;
  run.start = run.position = token.position;
  return {};
}

Result<Loader> Dataset::loader(LoaderOptions options) const {
  if (plan_->error) return *plan_->error;
  if (options.batch < 1) return Error(Code::invalid_argument, "loader: batch must be 1 or more");
  if (options.prefetch < 1) {
    return Error(Code::invalid_argument, "loader: prefetch must be 1 or more");
  }
  data::CollateOptions collate;
  Result<data::PlanPtr> plan = plan_->loader_plan(options, collate);
  if (!plan) return std::move(plan).error();
  auto run = std::make_unique<Loader::Run>();
  run->plan = *std::move(plan);
  run->share = {plan_->rank, std::max<std::uint64_t>(plan_->world, 1), options.batch,
                options.drop_last ? data::Ends::even : data::Ends::pad};
  run->data_digest = plan_->digest();
  run->workers = std::make_shared<WorkerPool>(static_cast<unsigned>(std::max(options.threads, 0)));
  run->budget = std::make_shared<BufferPool>(options.memory);
  run->encoded = std::make_shared<BufferPool>();
  run->collator = std::make_shared<data::Collator>(std::move(collate));
  run->options = std::move(options);
  return Loader(std::move(run));
}

std::vector<std::string> Batch::fields() const {
  std::vector<std::string> all;
  for (const Column& column : columns_) all.push_back(column.name);
  return all;
}

const Tensor* Batch::array(std::string_view field) const noexcept {
  for (const Column& column : columns_) {
    if (column.name == field && column.array) return &*column.array;
  }
  return nullptr;
}

const std::vector<RawField>* Batch::list(std::string_view field) const noexcept {
  for (const Column& column : columns_) {
    if (column.name == field && !column.array) return &column.list;
  }
  return nullptr;
}

}  // namespace penstock

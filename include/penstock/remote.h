// RemoteTask: a task that runs elsewhere and is completed later.
//
// A thread of a Lane claims it from the pipeline, does the work wherever it likes (another
// executor, an event loop) and then calls exactly one of finish, drop or fail. A RemoteTask that
// is destroyed before that fails its item, so nothing is ever lost silently. Once the pipeline is
// stopped the calls are accepted and do nothing.
//
// Thread safety: one thread at a time; any thread may complete a task that another one claimed.
#pragma once

#include <memory>
#include <string>

#include "penstock/error.h"
#include "penstock/item.h"

namespace penstock {

namespace engine {
class Engine;
struct Claim;
}  // namespace engine

class RemoteTask {
 public:
  RemoteTask(RemoteTask&&) noexcept;
  RemoteTask& operator=(RemoteTask&&) noexcept;
  ~RemoteTask();

  const std::string& stage() const noexcept;
  Item& item() noexcept;  // the input; empty for sources

  void finish(Item output, int port = 0) &&;  // the one output; for sources: one item of several
  void drop() &&;                             // no output; for sources: the end
  void fail(Error error) &&;

 private:
  friend class engine::Engine;
  RemoteTask(std::shared_ptr<engine::Engine> engine, std::unique_ptr<engine::Claim> claim);
  void complete();
  std::shared_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Claim> claim_;
};

}  // namespace penstock

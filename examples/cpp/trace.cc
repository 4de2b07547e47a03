// A trace of a pipeline: a file for Perfetto that shows what every thread did.
#include "penstock/trace.h"

#include <cstdio>
#include <filesystem>
#include <optional>

#include "penstock/pipeline.h"

int main() {
  const auto path = std::filesystem::temp_directory_path() / "penstock-example-trace.json";
  penstock::PipelineBuilder builder;
  builder.add_source("numbers", [i = 0]() mutable -> std::optional<int> {
    return i < 100 ? std::optional(i++) : std::nullopt;
  });
  builder.pipe("square", [](int x) { return x * x; }, {.concurrency = 2});
  builder.add_sink(3);
  auto pipeline = builder.build({.threads = 2});
  if (!pipeline.ok()) return 1;

  if (!penstock::start_trace().ok()) return 1;
  if (!pipeline->start().ok()) return 1;
  int items = 0;
  for (;;) {
    auto item = pipeline->next<int>();
    if (!item.ok()) return 1;
    if (!*item) break;
    ++items;
  }
  if (!penstock::write_trace(path.string()).ok()) return 1;  // opens in ui.perfetto.dev

  std::printf("%d items, a trace of %zu bytes\n", items,
              static_cast<std::size_t>(std::filesystem::file_size(path)));
  std::filesystem::remove(path);
  return items == 100 ? 0 : 1;
}

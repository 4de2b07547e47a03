// A recording as a file in Chrome's trace format, which Perfetto reads.
//
// Times are microseconds since the trace began. Lanes are numbered from 1; those of tasks that run
// elsewhere are made here, as many as it takes for their slices not to overlap.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "engine/trace.h"
#include "penstock/trace.h"

namespace penstock {
namespace engine {
namespace {

// Arrows begin and end a little inside their slices, so that viewers know which ones are meant.
constexpr std::int64_t kInsideNs = 500;
// One end of an arrow, inside its slice.
struct End {
  std::int64_t at, begin, end;
  int lane;
};

struct Arrow {
  std::vector<End> from, to;
};

class File {
 public:
  File(std::FILE* file, const Recording& recording) : file_(file), start_(recording.start) {
    std::uint64_t lost = 0;
    for (const TraceLane& lane : recording.lanes) lost += lane.lost;
    std::fprintf(file_,
                 "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"lost\":%llu},\"traceEvents\":[\n"
                 "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,"
                 "\"args\":{\"name\":\"penstock\"}}",
                 static_cast<unsigned long long>(lost), process_);
    for (const TraceLane& lane : recording.lanes) add(lane);
    for (const auto& [item, arrow] : arrows_) draw(arrow);
    std::fprintf(file_, "\n]}\n");
  }

 private:
  using Number = unsigned long long;

  void add(const TraceLane& lane) {
    const int own = begin_lane(lane.thread);
    std::vector<TraceSlice> overlapping;
    bool complete = false;  // what was sent by a slice that is lost has no place
    for (const TraceSlice& slice : lane.slices) {
      if (slice.elsewhere) {
        overlapping.push_back(slice);
        continue;
      }
      complete |= slice.kind != TraceSlice::Kind::outputs;
      if (complete) write(slice, own);
    }
    std::sort(overlapping.begin(), overlapping.end(),
              [](const TraceSlice& a, const TraceSlice& b) { return a.start < b.start; });
    std::vector<std::pair<std::int64_t, int>> free;  // from then on, which lane
    for (const TraceSlice& slice : overlapping) {
      auto at = std::find_if(free.begin(), free.end(),
                             [&](const auto& one) { return one.first <= slice.start; });
      if (at == free.end()) {
        const std::string name = lane.thread + " task " + std::to_string(free.size() + 1);
        at = free.insert(free.end(), {0, begin_lane(name)});
      }
      at->first = slice.end;
      write(slice, at->second);
    }
  }

  int begin_lane(const std::string& name) {
    ++lanes_;
    std::fprintf(file_, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":",
                 process_, lanes_);
    std::fputs("{\"name\":", file_);
    quote(name);
    std::fprintf(file_, "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%d,",
                 process_, lanes_);
    std::fprintf(file_, "\"args\":{\"sort_index\":%d}}", lanes_);
    return lanes_;
  }

  void write(TraceSlice slice, int lane) {
    slice.start = std::max(slice.start, start_);  // it may have begun before the trace
    slice.end = std::max(slice.end, slice.start);
    const std::int64_t inside = std::min(kInsideNs, (slice.end - slice.start) / 4);
    for (std::uint32_t i = 0; i < slice.in.count; ++i) {
      arrows_[{slice.in.queue, slice.in.first + i}].to.push_back(
          {slice.start + inside, slice.start, slice.end, lane});
    }
    for (std::uint32_t i = 0; i < slice.out.count; ++i) {
      arrows_[{slice.out.queue, slice.out.first + i}].from.push_back(
          {slice.end - inside, slice.start, slice.end, lane});
    }
    if (slice.kind == TraceSlice::Kind::outputs) return;
    std::fputs(",\n{\"ph\":\"X\",\"name\":", file_);
    quote(*slice.name);
    std::fprintf(file_, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":", category(slice.kind),
                 process_, lane);
    time(slice.start - start_);
    std::fputs(",\"dur\":", file_);
    time(slice.end - slice.start);
    arguments(slice);
    std::fputc('}', file_);
  }

  static const char* category(TraceSlice::Kind kind) {
    if (kind == TraceSlice::Kind::consumer) return "consumer";
    return kind == TraceSlice::Kind::gil ? "gil" : "task";
  }

  void arguments(const TraceSlice& slice) {
    std::fputs(",\"args\":{", file_);
    if (slice.kind == TraceSlice::Kind::rows) {
      std::fprintf(file_, "\"batch\":%llu,\"row\":%llu,\"rows\":%u",
                   static_cast<Number>(slice.batch), static_cast<Number>(slice.position),
                   slice.count);
    } else if (slice.kind != TraceSlice::Kind::gil) {
      std::fprintf(file_, "\"position\":%llu,\"items\":%u", static_cast<Number>(slice.position),
                   slice.count);
      if (slice.failed > 0) std::fprintf(file_, ",\"failed\":%u", slice.failed);
    }
    std::fputc('}', file_);
  }

  // From the one that sent it over those that worked on it to the last of them. Who waited for it
  // began before it was sent: viewers drop arrows that go back in time.
  void draw(const Arrow& arrow) {
    if (arrow.from.empty() || arrow.to.empty()) return;
    End from = arrow.from[0];
    std::vector<End> to = arrow.to;
    for (End& one : to) one.at = std::max(one.at, std::min(from.at, one.end));
    std::sort(to.begin(), to.end(), [](const End& a, const End& b) { return a.at < b.at; });
    from.at = std::max(from.begin, std::min(from.at, to[0].at));
    ++flows_;
    point('s', from);
    for (std::size_t i = 0; i + 1 < to.size(); ++i) point('t', to[i]);
    point('f', to.back());
  }

  void point(char phase, const End& end) {
    std::fprintf(file_,
                 ",\n{\"ph\":\"%c\",\"name\":\"item\",\"cat\":\"flow\",\"id\":%llu,\"pid\":%d,"
                 "\"tid\":%d,\"bp\":\"e\",\"ts\":",
                 phase, flows_, process_, end.lane);
    time(end.at - start_);
    std::fputc('}', file_);
  }

  void time(std::int64_t ns) {
    std::fprintf(file_, "%lld.%03lld", static_cast<long long>(ns / 1000),
                 static_cast<long long>(ns % 1000));
  }

  void quote(const std::string& text) {
    std::fputc('"', file_);
    for (const char c : text) {
      if (c == '"' || c == '\\') std::fputc('\\', file_);
      if (static_cast<unsigned char>(c) < 0x20) {
        std::fprintf(file_, "\\u%04x", static_cast<unsigned>(c));
      } else {
        std::fputc(c, file_);
      }
    }
    std::fputc('"', file_);
  }

  std::FILE* file_;
  const std::int64_t start_;
  const int process_ = getpid();
  int lanes_ = 0;
  Number flows_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrow> arrows_;  // by queue and number in it
};

Error cannot_write(const std::string& path) {
  return Error(Code::io, std::string("the trace cannot be written: ") + std::strerror(errno))
      .in_file(path);
}

}  // namespace
}  // namespace engine

Status start_trace(std::size_t slices) {
  constexpr std::size_t kMostSlices = std::size_t{1} << 26;  // of one thread: some gigabytes
  if (slices == 0 || slices > kMostSlices) {
    return Error(Code::invalid_argument, "start_trace: slices is " + std::to_string(slices) +
                                             "; give 1 to " + std::to_string(kMostSlices));
  }
  if (engine::begin_recording(slices)) return {};
  return Error(Code::invalid_argument,
               "start_trace: a trace is being recorded already; end it with write_trace first");
}

Status write_trace(const std::string& path) {
  const std::unique_ptr<engine::Recording> recording = engine::end_recording();
  if (recording == nullptr) {
    return Error(Code::invalid_argument, "write_trace: no trace was started in this process");
  }
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return engine::cannot_write(path);
  engine::File(file, *recording);
  const bool written = std::ferror(file) == 0;
  if (std::fclose(file) != 0 || !written) return engine::cannot_write(path);
  return {};
}

void drop_trace() {
  (void)engine::end_recording();
}

}  // namespace penstock

// Steps that decode clips, and native ops on arrays, added to the plan of a dataset.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "data/step_media.h"
#include "data_run.h"
#include "errors.h"
#include "finish.h"
#include "image_request.h"
#include "native_op.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::bindings {
namespace {

void add_video(PlanBuilder& plan, std::string field, const ImageRequest& request,
               std::int64_t frames, const std::string& sampling, std::int64_t stride,
               std::uint32_t ordinal, int stream, int threads, bool keep_index, std::string numbers,
               std::string damaged, const std::optional<Finish>& finish) {
  static const std::map<std::string_view, data::Sampling> samplings = {
      {"uniform", data::Sampling::uniform},
      {"random", data::Sampling::random},
      {"clip", data::Sampling::clip}};
  plan.heavy = true;
  data::VideoWork work;
  work.field = std::move(field);
  work.options.stream = stream;
  work.options.ffmpeg_threads = threads;
  work.options.max_pixels = request.options.max_pixels;
  if (keep_index) work.options.keep_index = IndexFile::keep;
  work.paint.crop = request.crop;
  work.paint.mode = request.options.mode;
  work.rotate = request.options.apply_orientation;
  work.strict = request.options.strict;
  work.frames = frames;
  work.sampling = named(samplings, sampling, "sampling");
  work.stride = stride;
  work.ordinal = ordinal;
  work.numbers = std::move(numbers);
  work.damaged = std::move(damaged);
  if (request.crop.size) {
    const std::int64_t h = request.crop.size->height, w = request.crop.size->width;
    const std::int64_t c = channels_of(request.options.mode);
    if (finish) {
      work.paint.finish = finish_of(*finish);
      work.array = plan.slots.size();
      plan.slots.push_back({work.paint.finish.type, work.paint.finish.layout == ImageLayout::hwc
                                                        ? Dims{frames, h, w, c}
                                                        : Dims{frames, c, h, w}});
    } else {
      plan.row_bytes += static_cast<std::size_t>(frames * h * w * c);
    }
  }
  plan.add(must(data::video_step(std::move(work))));
}

void add_audio(PlanBuilder& plan, std::string field, const AudioOptions& options, bool random_start,
               std::uint32_t ordinal, std::string rate, std::string damaged) {
  plan.heavy = true;
  data::AudioWork work{std::move(field),   options,      std::move(rate),
                       std::move(damaged), random_start, ordinal};
  plan.add(must(data::audio_step(std::move(work))));
}

// Ops on the array of a field, one after the other. Those that draw are numbered from `ordinal` on.
class OpStep final : public data::RowStep {
 public:
  OpStep(std::string field, std::vector<NativeOp> ops, std::uint32_t ordinal)
      : field_(std::move(field)), ops_(std::move(ops)), ordinal_(ordinal) {}

  std::string name() const override { return "apply " + field_; }

  Status run(const data::RowTask& task, data::Row& row) const override {
    data::Value* value = row.find(field_);
    const Tensor* array = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
    if (array == nullptr) {
      return Error(Code::invalid_argument,
                   "apply: field '" + field_ + "' holds no array; there are: " + row.names());
    }
    Tensor now = *array;
    std::uint32_t number = ordinal_;
    for (const NativeOp& op : ops_) {
      Result<Tensor> made = op.on_array(
          now, RandomStream(task.key, task.position, op.random ? number++ : std::uint32_t{0}));
      if (!made) {
        return Error(made.error().code(),
                     "apply " + op.name + " to '" + field_ + "': " + made.error().message());
      }
      now = *std::move(made);
    }
    row.set(field_, std::move(now));
    return {};
  }

 private:
  std::string field_;
  std::vector<NativeOp> ops_;
  std::uint32_t ordinal_;
};

void add_ops(PlanBuilder& plan, std::string field, std::vector<NativeOp> ops,
             std::uint32_t ordinal) {
  plan.heavy = true;
  plan.add(std::make_shared<OpStep>(std::move(field), std::move(ops), ordinal));
}

}  // namespace

void bind_data_media(nb::module_& m) {
  m.def("add_video_step", &add_video, "plan"_a, "field"_a, "request"_a, "frames"_a, "sampling"_a,
        "stride"_a, "ordinal"_a, "stream"_a, "threads"_a, "keep_index"_a, "numbers"_a, "damaged"_a,
        "finish"_a.none(), "Frames of a clip; see penstock.data.Dataset.decode_video.");
  m.def("add_audio_step", &add_audio, "plan"_a, "field"_a, "options"_a, "random_start"_a,
        "ordinal"_a, "rate"_a, "damaged"_a,
        "Samples of a file; see penstock.data.Dataset.decode_audio.");
  m.def("add_op_step", &add_ops, "plan"_a, "field"_a, "ops"_a, "ordinal"_a,
        "Native ops on an array; see penstock.data.Dataset.apply.");
}

}  // namespace penstock::bindings

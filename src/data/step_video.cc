// Video: frames of a clip straight into the slot of the batch where that is known, else into memory
// of the row.
#include <algorithm>

#include "data/step_media.h"
#include "media/image/shared_crop.h"
#include "media/video/open.h"

namespace penstock::data {
namespace {

class VideoStep final : public RowStep {
 public:
  explicit VideoStep(VideoWork work) : work_(std::move(work)) {}
  std::string name() const override { return "decode_video " + work_.field; }

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find(work_.field);
    auto source = clip_source(value, work_.field, "decode_video", row);
    if (!source) return std::move(source).error();
    Status status = decode(task, *std::move(source), row);
    if (!status) return media::in_field(work_.field, status.error());
    return {};
  }

 private:
  Status decode(const RowTask& task, std::shared_ptr<const storage::Source> source,
                Row& row) const {
    auto reader = media::open_frames(std::move(source), work_.options);
    if (!reader) return std::move(reader).error();
    const media::FrameIndex& index = (*reader)->index();
    if (!index.damage.empty()) {
      return (*reader)->at_frame(Code::corrupt, index.frames.size() - 1,
                                 "the file is damaged after it: " + index.damage);
    }
    const std::vector<std::int64_t> numbers =
        choose_frames(work_, std::int64_t(index.frames.size()),
                      RandomStream(task.key, task.position, work_.ordinal + 1));
    media::PaintRequest paint = work_.paint;
    if (work_.rotate) paint.orientation = media::av::orientation_of((*reader)->input().stream());
    const bool placed = work_.array && !task.slots.empty();
    if (!placed) paint.finish = FinishSpec();
    Tensor made;
    media::Painter painter(
        paint, RandomStream(task.key, task.position, work_.ordinal),
        [&](const FinishSpec& finish) -> Result<std::byte*> {
          const auto count = numbers.size();
          if (placed) {
            const Tensor& slots = task.slots[*work_.array];
            return slots.raw() + task.slot * count * finish.bytes();
          }
          Result<Tensor> tensor = Tensor::empty(
              DType::uint8, {std::int64_t(count), finish.height, finish.width, finish.channels});
          if (!tensor) return std::move(tensor).error();
          made = *std::move(tensor);
          return made.raw();
        });
    Result<media::ReadReport> report = (*reader)->read(numbers, {work_.strict, false}, painter);
    if (!report) return std::move(report).error();
    // Last: the bytes of the file live in this field.
    reader->reset();
    row.set(work_.field, placed ? Value(Placed{*work_.array}) : Value(std::move(made)));
    return add_fields(row, numbers, *report);
  }

  Status add_fields(Row& row, const std::vector<std::int64_t>& numbers,
                    const media::ReadReport& report) const {
    if (!work_.damaged.empty()) {
      row.set(work_.damaged,
              std::int64_t(std::count(report.damaged.begin(), report.damaged.end(), true)));
    }
    if (work_.numbers.empty()) return {};
    Result<Tensor> array = Tensor::empty(DType::int64, {std::int64_t(numbers.size())});
    if (!array) return std::move(array).error();
    std::copy(numbers.begin(), numbers.end(), array->data<std::int64_t>());
    row.set(work_.numbers, *std::move(array));
    return {};
  }

  VideoWork work_;
};

}  // namespace

std::vector<std::int64_t> choose_frames(const VideoWork& work, std::int64_t total,
                                        RandomStream random) {
  const std::int64_t count = work.frames;
  std::vector<std::int64_t> numbers;
  numbers.reserve(std::size_t(count));
  const std::int64_t length = (count - 1) * work.stride + 1;
  std::int64_t first = 0;
  if (work.sampling == Sampling::clip && total > length) {
    first = std::int64_t(random.below(std::uint64_t(total - length + 1)));
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t from = k * total / count, to = (k + 1) * total / count;
    switch (work.sampling) {
      case Sampling::uniform:
        numbers.push_back((2 * k + 1) * total / (2 * count));
        break;
      case Sampling::random:
        numbers.push_back(
            from + std::int64_t(random.below(std::uint64_t(std::max<std::int64_t>(to - from, 1)))));
        break;
      case Sampling::clip:
        numbers.push_back(std::min(first + k * work.stride, total - 1));
        break;
    }
  }
  return numbers;
}

Result<std::shared_ptr<const storage::Source>> clip_source(const Value* value,
                                                           const std::string& field,
                                                           const char* step, const Row& row) {
  if (value == nullptr) {
    return Error(Code::no_field, std::string(step) + ": the sample has no field '" + field +
                                     "'; it has: " + row.names());
  }
  if (const Text* name = std::get_if<Text>(value)) {
    return storage::open_source(std::string(name->text()));
  }
  if (const Bytes* bytes = std::get_if<Bytes>(value)) {
    return storage::source_over(bytes->bytes, "");
  }
  return Error(Code::invalid_argument, std::string(step) + ": field '" + field +
                                           "' holds neither the bytes nor the name of a file");
}

Result<StepPtr> video_step(VideoWork work) {
  if (Status status = check(work.paint.crop); !status) return std::move(status).error();
  if (work.frames < 1 || work.frames > 1 << 20 || work.stride < 1 || work.stride > 1 << 20) {
    return Error(Code::invalid_argument, "decode_video: num_frames and stride are 1 or more");
  }
  return StepPtr(std::make_shared<VideoStep>(std::move(work)));
}

}  // namespace penstock::data

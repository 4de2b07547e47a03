// Audio: samples of a file, or of a part of it, into memory of the row.
#include "data/step_media.h"
#include "media/audio/load.h"
#include "media/image/shared_crop.h"

namespace penstock::data {
namespace {

class AudioStep final : public RowStep {
 public:
  explicit AudioStep(AudioWork work) : work_(std::move(work)) {}
  std::string name() const override { return "decode_audio " + work_.field; }

  Status run(const RowTask& task, Row& row) const override {
    Value* value = row.find(work_.field);
    auto source = clip_source(value, work_.field, "decode_audio", row);
    if (!source) return std::move(source).error();
    Result<Audio> audio = load(task, *std::move(source));
    if (!audio) return media::in_field(work_.field, audio.error());
    row.set(work_.field, std::move(audio->samples));
    if (!work_.rate.empty()) row.set(work_.rate, std::int64_t(audio->sample_rate));
    if (!work_.damaged.empty()) row.set(work_.damaged, audio->damaged);
    return {};
  }

 private:
  Result<Audio> load(const RowTask& task, std::shared_ptr<const storage::Source> source) const {
    if (!work_.random_start) return media::load_audio(std::move(source), work_.options);
    RandomStream random(task.key, task.position, work_.ordinal);
    return media::load_window(source, work_.options, random.uniform());
  }

  AudioWork work_;
};

}  // namespace

Result<StepPtr> audio_step(AudioWork work) {
  if (Status status = media::check(work.options); !status) return std::move(status).error();
  return StepPtr(std::make_shared<AudioStep>(std::move(work)));
}

}  // namespace penstock::data

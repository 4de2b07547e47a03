#include "media/av/ffmpeg/sounds.h"

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "media/av/ffmpeg/log.h"

namespace penstock::media::av {
namespace {

// What a resampler was made for.
struct SwrForm {
  int rate_in = 0, rate_out = 0, format_in = -1, format_out = -1;
  std::string layout_in, layout_out;
  bool operator==(const SwrForm&) const = default;
};

// The last one of this thread: its filter need not be computed again.
struct SpareSwr {
  SwrPtr context;
  SwrForm form;
};
thread_local SpareSwr spare_swr;

class SwrResampler final : public Resampler {
 public:
  SwrResampler(SwrPtr context, SwrForm form, int channels, const AVFrame& frame)
      : context_(std::move(context)), form_(std::move(form)), channels_(channels), frame_(frame) {}
  ~SwrResampler() override { spare_swr = {std::move(context_), std::move(form_)}; }

  std::int64_t room(std::int64_t samples) const override {
    return swr_get_out_samples(context_.get(), int(samples));
  }

  Result<std::int64_t> convert(std::int64_t first, std::int64_t count, std::uint8_t* const* into,
                               std::int64_t room) override {
    const auto format = AVSampleFormat(frame_.format);
    const bool planar = av_sample_fmt_is_planar(format) != 0;
    const int channels = frame_.ch_layout.nb_channels;
    const int step = av_get_bytes_per_sample(format) * (planar ? 1 : channels);
    std::array<const std::uint8_t*, kMostChannels> from{};
    for (int i = 0; i < (planar ? channels : 1); ++i) {
      from[std::size_t(i)] = frame_.extended_data[i] + first * step;
    }
    return answer(swr_convert(context_.get(), const_cast<std::uint8_t**>(into), int(room),
                              from.data(), int(count)));
  }

  Result<std::int64_t> finish(std::uint8_t* const* into, std::int64_t room,
                              std::int64_t least) override {
    Result<std::int64_t> made = emptied(into, 0, room);
    // It mirrors no more than has gone in; a sound that is shorter than the filter is kept
    // altogether.
    for (int turn = 0; made && *made < least && turn < kMostSilences; ++turn) {
      const int fed = swr_inject_silence(context_.get(), kSilence);
      if (fed < 0) return answer(fed);
      const Result<std::int64_t> more = emptied(into, *made, least);
      if (!more) return more;
      made = *made + *more;
    }
    return made;
  }

 private:
  // Many enough for the filter of the least ratio (see kMostRatio), twice.
  static constexpr int kSilence = 1024, kMostSilences = 2 * 32 * kMostRatio / kSilence + 2;

  // What can be had without more input, behind `made` samples, until there are `room`.
  Result<std::int64_t> emptied(std::uint8_t* const* into, std::int64_t made, std::int64_t room) {
    const auto format = AVSampleFormat(form_.format_out);
    const bool planar = av_sample_fmt_is_planar(format) != 0;
    const int step = av_get_bytes_per_sample(format) * (planar ? 1 : channels_);
    std::array<std::uint8_t*, kMostChannels> rows{};
    for (int i = 0; i < (planar ? channels_ : 1); ++i) {
      rows[std::size_t(i)] = into[i] + made * step;
    }
    return answer(swr_convert(context_.get(), rows.data(), int(room - made), nullptr, 0));
  }

  static Result<std::int64_t> answer(int count) {
    if (count < 0) return Error(Code::internal, "libswresample: " + words_of(count));
    return std::int64_t(count);
  }

  SwrPtr context_;
  SwrForm form_;
  int channels_;  // of what comes out
  const AVFrame& frame_;
};

// Samples that are already as they were asked for.
class PlainCopy final : public Resampler {
 public:
  explicit PlainCopy(const AVFrame& frame) : frame_(frame) {}

  std::int64_t room(std::int64_t samples) const override { return samples; }

  Result<std::int64_t> convert(std::int64_t first, std::int64_t count, std::uint8_t* const* into,
                               std::int64_t room) override {
    if (count > room || frame_.format != AV_SAMPLE_FMT_FLTP) {
      return Error(Code::unsupported, "the form of the samples changes");
    }
    for (int i = 0; i < frame_.ch_layout.nb_channels; ++i) {
      const auto* const from = reinterpret_cast<const float*>(frame_.extended_data[i]) + first;
      std::memcpy(into[i], from, std::size_t(count) * sizeof(float));
    }
    return count;
  }

  Result<std::int64_t> finish(std::uint8_t* const*, std::int64_t, std::int64_t) override {
    return std::int64_t{0};
  }

 private:
  const AVFrame& frame_;
};

bool is_as_wanted(const AVFrame& frame, const SampleForm& form) {
  return frame.format == AV_SAMPLE_FMT_FLTP && form.floating && form.planar &&
         (form.sample_rate == 0 || form.sample_rate == frame.sample_rate) &&
         (form.channels == 0 || form.channels == frame.ch_layout.nb_channels);
}

std::string name_of(const AVChannelLayout& layout) {
  char text[1024] = {};
  (void)av_channel_layout_describe(&layout, text, sizeof text);
  return text;
}

std::int64_t little_endian(const std::uint8_t* four) {
  return std::int64_t(four[0]) | std::int64_t(four[1]) << 8 | std::int64_t(four[2]) << 16 |
         std::int64_t(four[3]) << 24;
}

}  // namespace

Sound sound_of(const AVFrame& frame, bool damaged) {
  Sound sound;
  sound.tag = frame.pts == AV_NOPTS_VALUE ? -1 : frame.pts;
  sound.samples = frame.nb_samples;
  sound.channels = frame.ch_layout.nb_channels;
  sound.sample_rate = frame.sample_rate;
  sound.discard = (frame.flags & AV_FRAME_FLAG_DISCARD) != 0;
  sound.damaged = damaged;
  if (const AVFrameSideData* skip = av_frame_get_side_data(&frame, AV_FRAME_DATA_SKIP_SAMPLES);
      skip != nullptr && skip->size >= 8) {
    sound.skip_front = little_endian(skip->data);
    sound.skip_back = little_endian(skip->data + 4);
  }
  return sound;
}

Result<std::unique_ptr<Resampler>> make_resampler(const AVFrame& frame, const SampleForm& form) {
  Messages messages;
  const Listening listening(messages);
  if (frame.ch_layout.nb_channels > kMostChannels) {
    return Error(Code::unsupported, "more than 64 channels");
  }
  if (is_as_wanted(frame, form)) {
    return std::unique_ptr<Resampler>(std::make_unique<PlainCopy>(frame));
  }
  const int rate = form.sample_rate > 0 ? form.sample_rate : frame.sample_rate;
  const auto exceeds = [](std::int64_t many, std::int64_t few) { return many > few * kMostRatio; };
  if (exceeds(rate, frame.sample_rate) || exceeds(frame.sample_rate, rate)) {
    return Error(Code::invalid_argument,
                 "an absurd sample rate: " + std::to_string(frame.sample_rate) +
                     " Hz cannot become " + std::to_string(rate) + " Hz, the most is " +
                     std::to_string(kMostRatio) + " times as many or as few samples");
  }
  AVChannelLayout from{}, to{};
  if (frame.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
    av_channel_layout_default(&from, frame.ch_layout.nb_channels);
  } else {
    av_channel_layout_copy(&from, &frame.ch_layout);
  }
  if (form.channels == 0 || form.channels == frame.ch_layout.nb_channels) {
    av_channel_layout_copy(&to, &from);
  } else {
    av_channel_layout_default(&to, form.channels);
  }
  const AVSampleFormat format = form.floating
                                    ? (form.planar ? AV_SAMPLE_FMT_FLTP : AV_SAMPLE_FMT_FLT)
                                    : (form.planar ? AV_SAMPLE_FMT_S16P : AV_SAMPLE_FMT_S16);
  SwrForm is{frame.sample_rate, rate, frame.format, int(format), name_of(from), name_of(to)};
  SwrPtr context;
  int set = 0;
  if (spare_swr.context != nullptr && spare_swr.form == is) {
    context = std::move(spare_swr.context);
  } else {
    SwrContext* made = nullptr;
    set = swr_alloc_set_opts2(&made, &to, format, rate, &from, AVSampleFormat(frame.format),
                              frame.sample_rate, 0, nullptr);
    context.reset(made);
    // A mix never gets louder than what it is made of: two channels become their mean.
    if (set >= 0) set = av_opt_set_double(context.get(), "rematrix_maxval", 1.0, 0);
  }
  if (set >= 0) set = swr_init(context.get());  // also forgets what went through it before
  const int channels = to.nb_channels;
  av_channel_layout_uninit(&from);
  av_channel_layout_uninit(&to);
  if (set < 0) {
    return Error(Code::unsupported, "these samples cannot be converted: " +
                                        (messages.first.empty() ? words_of(set) : messages.first));
  }
  return std::unique_ptr<Resampler>(
      std::make_unique<SwrResampler>(std::move(context), std::move(is), channels, frame));
}

}  // namespace penstock::media::av

#include "data/dataset_steps.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace penstock {
namespace {

media::CropRequest crop_of(const DecodeImageOptions& options) {
  media::CropRequest crop;
  if (options.size) crop.size = Size{options.size->first, options.size->second};
  if (options.random_crop) crop.random = ResizedCropRange();
  crop.centre = options.centre_crop;
  crop.resize_short = options.resize_short;
  crop.flip = options.flip;
  crop.exact = options.exact;
  return crop;
}

Result<FinishSpec> finish_of(const DecodeImageOptions& image, const LoaderOptions& options) {
  FinishSpec spec;
  spec.height = image.size ? image.size->first : 1;
  spec.width = image.size ? image.size->second : 1;
  spec.channels = channels_of(image.mode);
  spec.layout = options.channels_first ? ImageLayout::chw : ImageLayout::hwc;
  spec.type = options.dtype;
  if (Status status = check(spec); !status) return std::move(status).error();
  if (!options.mean.empty() || !options.std.empty()) {
    if (Status status = normalise(spec, options.mean, options.std); !status) {
      return std::move(status).error();
    }
  }
  return spec;
}

}  // namespace

Result<data::StepPtr> Dataset::Plan::StepMaker::make(const Work& work, const std::string& final,
                                                     bool placed) {
  if (const auto* select = std::get_if<Select>(&work)) return data::select_step(select->fields);
  if (const auto* rename = std::get_if<Rename>(&work)) {
    return data::rename_step({{rename->field, rename->name}});
  }
  if (const auto* decode = std::get_if<Decode>(&work)) {
    return data::decode_step(decode->field, decode->kind);
  }
  return make_image(std::get<Image>(work), final, placed);
}

Status Dataset::Plan::StepMaker::note(const Work& work, const std::string& final) {
  const auto* image = std::get_if<Image>(&work);
  if (image == nullptr || final.empty() || channels_of(image->options.mode) == 0) return {};
  Result<FinishSpec> finish = finish_of(image->options, options_);
  if (!finish) return std::move(finish).error();
  collate_.images[final] = *std::move(finish);
  return {};
}

Result<data::StepPtr> Dataset::Plan::StepMaker::make_image(const Image& image,
                                                           const std::string& final, bool placed) {
  heavy_ = true;
  data::ImageField field;
  field.name = image.field;
  field.options.mode = image.options.mode;
  const int channels = channels_of(image.options.mode);
  if (placed && channels > 0 && image.options.size) {
    Result<FinishSpec> finish = finish_of(image.options, options_);
    if (!finish) return std::move(finish).error();
    const std::int64_t h = finish->height, w = finish->width, c = finish->channels;
    field.array = plan_.slots.size();
    plan_.slots.push_back({finish->type, options_.channels_first ? Dims{c, h, w} : Dims{h, w, c}});
    field.finish = *std::move(finish);
  } else {
    if (Status status = note(image, final); !status) return std::move(status).error();
    if (image.options.size) {
      const auto [height, width] = *image.options.size;
      plan_.row_bytes += static_cast<std::size_t>(height * width * channels);
    }
  }
  data::ImageWork work;
  work.fields.push_back(std::move(field));
  work.crop = crop_of(image.options);
  work.ordinal = image.random() ? ordinal_++ : 0;
  return data::image_step(std::move(work));
}

void Dataset::Plan::StepMaker::add_filter(const std::function<bool(const Sample&)>& keep) {
  data::Segment& segment = plan_.segments.back();
  segment.call = [keep](const data::CallTask&, data::Row& row) { return ask(keep, row); };
  segment.call_name = "filter";
  segment.concurrency = options_.threads > 0
                            ? options_.threads
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  plan_.segments.emplace_back();
}

Result<bool> Dataset::Plan::ask(const std::function<bool(const Sample&)>& keep,
                                const data::Row& row) {
  try {
    return keep(Sample(row));
  } catch (const std::exception& error) {
    return Error(Code::failed, std::string("filter: ") + error.what());
  } catch (...) {
    return Error(Code::failed, "filter: the function has thrown what is no std::exception");
  }
}

}  // namespace penstock

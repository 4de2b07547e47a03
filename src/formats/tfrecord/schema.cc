#include "formats/tfrecord/schema.h"

#include <algorithm>
#include <charconv>

#include "formats/tfrecord/features.h"

namespace penstock::formats::tfrecord {
namespace {

struct KindName {
  std::string_view name;
  FeatureKind kind;
};
constexpr KindName kKinds[] = {{"bytes", FeatureKind::bytes},
                               {"text", FeatureKind::text},
                               {"int64", FeatureKind::int64},
                               {"float", FeatureKind::float32},
                               {"raw", FeatureKind::raw}};

Error not_understood(const std::string& name, std::string_view text, const char* why) {
  return Error(Code::invalid_argument,
               "fields: '" + std::string(text) + "' of '" + name + "' " + why +
                   "; give bytes, text, int64 or float, a shape behind it (float[4], int64[] for "
                   "any number), or raw");
}

// The numbers between two brackets; none: -1.
bool read_extents(std::string_view text, std::vector<std::int64_t>& into) {
  if (text.empty()) {
    into.push_back(-1);
    return true;
  }
  for (;;) {
    std::int64_t extent = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (code != std::errc() || extent < 1 || extent > (std::int64_t{1} << 40)) return false;
    into.push_back(extent);
    text.remove_prefix(std::size_t(end - text.data()));
    if (text.empty()) return true;
    if (text.front() != ',') return false;
    text.remove_prefix(1);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
}

}  // namespace

std::string FeatureSpec::text() const {
  std::string all;
  for (const KindName& each : kKinds) {
    if (each.kind == kind) all = each.name;
  }
  if (!shape) return all;
  std::size_t d = 0;
  if (open()) {
    all += "[]";
    d = 1;
  }
  if (d == shape->rank()) return all;
  for (char before = '['; d < shape->rank(); ++d, before = ',') {
    all.push_back(before);
    all.append(std::to_string((*shape)[d]));
  }
  all.push_back(']');
  return all;
}

Result<FeatureSpec> parse_spec(std::string name, std::string_view text) {
  FeatureSpec spec;
  spec.name = std::move(name);
  const std::string_view word = text.substr(0, text.find('['));
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const KindName& each) { return each.name == word; });
  if (kind == std::end(kKinds)) return not_understood(spec.name, text, "is no kind of field");
  spec.kind = kind->kind;
  std::string_view rest = text.substr(word.size());
  if (rest.empty()) return spec;
  std::vector<std::int64_t> extents;
  while (!rest.empty()) {
    const std::size_t close = rest.find(']');
    if (rest.front() != '[' || close == rest.npos ||
        !read_extents(rest.substr(1, close - 1), extents)) {
      return not_understood(spec.name, text, "has no shape that can be read");
    }
    rest.remove_prefix(close + 1);
  }
  std::int64_t values = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] < 0 && d > 0)
      return not_understood(spec.name, text, "may be open in front only");
    if (extents[d] > 0 && __builtin_mul_overflow(values, extents[d], &values)) {
      return not_understood(spec.name, text, "has more values than there can be");
    }
  }
  spec.shape = Dims(std::span<const std::int64_t>(extents));
  if (!spec.shape->valid()) return not_understood(spec.name, text, "has too many dimensions");
  const bool words = spec.kind == FeatureKind::bytes;
  if ((spec.kind == FeatureKind::raw || spec.kind == FeatureKind::text || words) &&
      !(words && spec.open() && spec.shape->rank() == 1)) {
    return not_understood(spec.name, text, "has a shape, which only numbers and bytes[] have");
  }
  return spec;
}

std::vector<FeatureSpec> infer(std::span<const std::byte> record) {
  std::vector<FeatureSpec> specs;
  const auto add = [&](std::string_view name, const FeatureBody& body, std::size_t count,
                       std::optional<Dims> shape) {
    std::erase_if(specs,
                  [&](const FeatureSpec& each) { return each.name == name; });  // the last wins
    if (body.kind == 0 || count == 0) return;  // nothing to tell its type by
    FeatureSpec spec;
    spec.name = name;
    spec.kind = body.kind == kBytesList   ? FeatureKind::bytes
                : body.kind == kFloatList ? FeatureKind::float32
                                          : FeatureKind::int64;
    if (spec.kind == FeatureKind::bytes && shape) shape = Dims{-1};
    spec.shape = shape;
    specs.push_back(std::move(spec));
  };
  bool sound = true;
  const bool ok = each_feature(
      record, [&](std::string_view name, std::span<const std::byte> message, bool in_steps) {
        FeatureBody body;
        std::size_t count = 0;
        if (!in_steps) {
          sound = sound && body_of(message, body) && count_values(body, count);
          if (sound) add(name, body, count, count == 1 ? std::nullopt : std::optional<Dims>({-1}));
          return;
        }
        FeatureBody first;
        std::size_t width = 0;
        const bool whole = each_step(message, [&](const FeatureBody& step) {
          sound = sound && count_values(step, count);
          if (first.kind == 0) first = step, width = count;
        });
        sound = sound && whole;
        if (!sound) return;
        add(name, first, width, width == 1 ? Dims{-1} : Dims{-1, std::int64_t(width)});
      });
  if (!ok || !sound) return {};
  std::sort(specs.begin(), specs.end(),
            [](const FeatureSpec& a, const FeatureSpec& b) { return a.name < b.name; });
  return specs;
}

}  // namespace penstock::formats::tfrecord

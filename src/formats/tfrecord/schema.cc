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
                   "any number, int64[][] for steps of any length), or raw");
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

// What the steps of a list have, or a feature, which is like one step.
struct Kinds {
  std::uint32_t kind = 0;  // of the lists; 0: none has one
  bool mixed = false;      // do they have several?
  bool sound = true;       // can all be read?
  bool even = true;        // do all have as many values?
  std::size_t steps = 0, width = 0;

  void add(const FeatureBody& body) {
    std::size_t count = 0;
    sound = sound && count_values(body, count);
    if (steps == 0) width = count;
    even = even && count == width;
    mixed = mixed || (body.kind != 0 && kind != 0 && body.kind != kind);
    if (body.kind != 0) kind = body.kind;
    ++steps;
  }
};

bool look_at(std::span<const std::byte> feature, Kinds& into) {
  FeatureBody body;
  if (!body_of(feature, body)) return false;
  into.add(body);
  return true;
}

FeatureSpec spec_of(std::string_view name, const Kinds& kinds, bool in_steps) {
  FeatureSpec spec;
  spec.name = name;
  spec.kind = kinds.kind == kBytesList   ? FeatureKind::bytes
              : kinds.kind == kFloatList ? FeatureKind::float32
                                         : FeatureKind::int64;
  if (!in_steps) {
    if (kinds.width != 1) spec.shape = Dims{-1};
    return spec;
  }
  spec.shape = Dims{-1};
  if (kinds.even && kinds.width == 1) return spec;
  spec.ragged = !kinds.even || kinds.width == 0 || spec.kind == FeatureKind::bytes;
  if (!spec.ragged) spec.shape = Dims{-1, std::int64_t(kinds.width)};
  return spec;
}

}  // namespace

std::string FeatureSpec::text() const {
  std::string all;
  for (const KindName& each : kKinds) {
    if (each.kind == kind) all = each.name;
  }
  if (!shape) return all;
  if (ragged) return all + "[][]";
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
  if (extents == std::vector<std::int64_t>{-1, -1}) {
    spec.ragged = true;
    extents.pop_back();
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
    return not_understood(spec.name, text,
                          "has a shape, which only numbers, bytes[] and bytes[][] have");
  }
  return spec;
}

Inferred infer(std::span<const std::byte> record) {
  Inferred found;
  bool sound = true;
  const bool ok = each_feature(
      record, [&](std::string_view name, std::span<const std::byte> message, bool in_steps) {
        std::erase(found.untyped, name);  // the last of a name wins
        std::erase_if(found.specs, [&](const FeatureSpec& each) { return each.name == name; });
        Kinds kinds;
        sound = sound && (in_steps ? each_step(message, [&](const FeatureBody& b) { kinds.add(b); })
                                   : look_at(message, kinds));
        if (!sound || !kinds.sound) {
          sound = false;
        } else if (kinds.kind == 0 || kinds.mixed) {
          found.untyped.emplace_back(name);
        } else {
          found.specs.push_back(spec_of(name, kinds, in_steps));
        }
      });
  if (!ok || !sound) return {};
  std::sort(found.specs.begin(), found.specs.end(),
            [](const FeatureSpec& a, const FeatureSpec& b) { return a.name < b.name; });
  std::sort(found.untyped.begin(), found.untyped.end());
  return found;
}

}  // namespace penstock::formats::tfrecord

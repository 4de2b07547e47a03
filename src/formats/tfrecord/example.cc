#include "formats/tfrecord/example.h"

#include <algorithm>

#include "formats/tfrecord/features.h"

namespace penstock::formats::tfrecord {
namespace {

constexpr std::size_t kAlignment = 64;

// Where a field of the schema is in the record.
struct Place {
  bool present = false;
  bool in_steps = false;
  FeatureBody body;                    // if it is not in steps
  std::span<const std::byte> message;  // if it is
  std::size_t values = 0, steps = 0;
  std::size_t shortest = 0, longest = 0;  // values of a step
  std::uint32_t kind = 0;                 // of the lists; 0 if there are none
};

Error not_an_example() {
  return Error(Code::corrupt,
               "this record is no tf.train.Example; fields={\"data\": \"raw\"} gives its bytes");
}

const char* kind_name(std::uint32_t kind) noexcept {
  return kind == kBytesList ? "bytes" : kind == kFloatList ? "float" : "int64";
}

std::uint32_t wanted_kind(FeatureKind kind) noexcept {
  return kind == FeatureKind::int64     ? kInt64List
         : kind == FeatureKind::float32 ? kFloatList
                                        : kBytesList;
}

bool survey(Place& place) {
  if (!place.in_steps) {
    place.kind = place.body.kind;
    return count_values(place.body, place.values);
  }
  bool sound = true;
  const bool whole = each_step(place.message, [&](const FeatureBody& body) {
    std::size_t count = 0;
    sound = sound && count_values(body, count);
    place.shortest = place.steps == 0 ? count : std::min(place.shortest, count);
    place.longest = std::max(place.longest, count);
    if (body.kind != 0) {
      sound = sound && (place.kind == 0 || place.kind == body.kind);
      place.kind = body.kind;
    }
    place.values += count;
    ++place.steps;
  });
  return whole && sound;
}

// Sound, but not what was asked for: the next record may well be.
Error uneven(const FeatureSpec& spec, const Place& place) {
  FeatureSpec other = spec;
  other.ragged = true;
  return Error(Code::invalid_argument,
               "the steps of feature '" + spec.name + "' have from " +
                   std::to_string(place.shortest) + " to " + std::to_string(place.longest) +
                   " values, but it is to be " + spec.text() + "; fields={\"" + spec.name +
                   "\": \"" + other.text() + "\"} takes steps of any length");
}

// The shape that the values have; an Error if they do not fit.
Result<Dims> shape_of(const FeatureSpec& spec, const Place& place) {
  const auto refuse = [&](const std::string& why) {
    return Error(Code::corrupt,
                 "feature '" + spec.name + "' " + why + ", but it is to be " + spec.text());
  };
  const std::string count = std::to_string(place.values);
  if (!spec.shape) {
    if (place.values == 1 && !place.in_steps) return Dims{};
    return refuse(place.in_steps ? "is a list of steps" : "has " + count + " values");
  }
  std::size_t each = 1;
  for (std::size_t d = spec.open() ? 1 : 0; d < spec.shape->rank(); ++d) {
    each *= std::size_t((*spec.shape)[d]);
  }
  if (spec.ragged) {
    if (place.present && !place.in_steps) return refuse("is no list of steps");
    return Dims{std::int64_t(place.values)};
  }
  if (!spec.open()) {
    if (place.values == each) return *spec.shape;
    return refuse("has " + count + " values");
  }
  if (place.in_steps && place.steps > 0 && place.shortest != place.longest)
    return uneven(spec, place);
  if (place.in_steps && place.steps > 0 && place.longest != each) {
    return refuse("has " + count + " values in " + std::to_string(place.steps) + " steps");
  }
  if (place.values % each != 0) return refuse("has " + count + " values");
  Dims shape = *spec.shape;
  shape[0] = std::int64_t(place.values / each);
  return shape;
}

template <class Copy>
void copy_all(const Place& place, const Copy& copy) {
  if (!place.in_steps) {
    copy(place.body);
  } else {
    each_step(place.message, copy);
  }
}

void list_bytes(const Place& place, std::vector<std::span<const std::byte>>& into) {
  copy_all(place, [&](const FeatureBody& body) {
    Wire wire(body.list);
    while (wire.next()) {
      if (wire.is(1, WireType::bytes)) into.push_back(wire.bytes());
    }
  });
}

void list_lengths(const Place& place, std::vector<std::size_t>& into) {
  if (!place.in_steps) return;  // it is absent
  each_step(place.message, [&](const FeatureBody& body) {
    std::size_t count = 0;
    (void)count_values(body, count);
    into.push_back(count);
  });
}

std::span<const std::byte> only_bytes(const Place& place) {
  Wire wire(place.body.list);
  while (wire.next()) {
    if (wire.is(1, WireType::bytes)) return wire.bytes();
  }
  return {};
}

}  // namespace

Status ExampleParser::parse(std::span<const std::byte> record, BufferPool& pool,
                            std::vector<FeatureValue>& into, Buffer& memory) const {
  into.resize(specs_.size());
  thread_local std::vector<Place> places;
  places.assign(specs_.size(), Place());
  bool sound = true, any = false;
  for (const FeatureSpec& spec : specs_) any = any || spec.kind != FeatureKind::raw;
  std::size_t guess = 0;  // writers keep to one order of names
  const bool whole =
      !any || each_feature(record, [&](std::string_view name, std::span<const std::byte> message,
                                       bool in_steps) {
        for (std::size_t k = 0; k < specs_.size(); ++k) {
          const std::size_t i = guess + k < specs_.size() ? guess + k : guess + k - specs_.size();
          if (specs_[i].name != name || specs_[i].kind == FeatureKind::raw) continue;
          places[i] = {};
          places[i].present = true;
          places[i].in_steps = in_steps;
          places[i].message = message;
          if (!in_steps) sound = sound && body_of(message, places[i].body);
          guess = i + 1 < specs_.size() ? i + 1 : 0;
          return;
        }
      });
  if (!whole || !sound) return not_an_example();

  std::size_t bytes = 0;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const FeatureSpec& spec = specs_[i];
    FeatureValue& value = into[i];
    Place& place = places[i];
    if (spec.kind == FeatureKind::raw) {
      value.bytes = record;
      continue;
    }
    if (!survey(place)) return not_an_example();
    if (!place.present && !spec.open()) {
      return Error(Code::corrupt, "the record has no feature '" + spec.name + "'");
    }
    if (place.kind != 0 && place.kind != wanted_kind(spec.kind)) {
      return Error(Code::corrupt, "feature '" + spec.name + "' holds " + kind_name(place.kind) +
                                      ", but it is to be " + spec.text());
    }
    const Result<Dims> shape = shape_of(spec, place);
    if (!shape) return shape.error();
    value.shape = *shape;
    value.lengths.clear();
    if (spec.ragged) list_lengths(place, value.lengths);
    if (wanted_kind(spec.kind) == kBytesList) {
      value.items.clear();
      value.bytes = {};
      if (spec.shape) list_bytes(place, value.items);
      if (!spec.shape) value.bytes = only_bytes(place);
    } else if (!spec.shape) {
      if (spec.kind == FeatureKind::int64) copy_integers(place.body, &value.integer);
      if (spec.kind == FeatureKind::float32) copy_floats(place.body, &value.real);
    } else {
      value.offset = bytes;
      const std::size_t size = place.values * (spec.kind == FeatureKind::int64 ? 8 : 4);
      bytes += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
  }
  memory = Buffer();
  if (bytes == 0) return {};
  Result<Buffer> room = pool.allocate(bytes);
  if (!room) return std::move(room).error();
  memory = *std::move(room);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (!specs_[i].shape) continue;
    std::byte* at = memory.data() + into[i].offset;
    if (specs_[i].kind == FeatureKind::int64) {
      auto* out = reinterpret_cast<std::int64_t*>(at);
      copy_all(places[i], [&](const FeatureBody& body) {
        std::size_t count = 0;
        (void)count_values(body, count);
        copy_integers(body, out);
        out += count;
      });
    } else if (specs_[i].kind == FeatureKind::float32) {
      auto* out = reinterpret_cast<float*>(at);
      copy_all(places[i], [&](const FeatureBody& body) {
        std::size_t count = 0;
        (void)count_values(body, count);
        copy_floats(body, out);
        out += count;
      });
    }
  }
  return {};
}

}  // namespace penstock::formats::tfrecord

#include "data/steps.h"

#include <algorithm>
#include <charconv>

namespace penstock::data {
namespace {

Error missing(const std::string& name, const Row& row) {
  return Error(Code::no_field, "the sample has no field '" + name + "'; it has: " + row.names());
}

class Select final : public RowStep {
 public:
  explicit Select(std::vector<std::string> names) : names_(std::move(names)) {}
  Status run(const RowTask&, Row& row) const override {
    std::vector<RowField> kept;
    kept.reserve(names_.size());
    for (const std::string& name : names_) {
      Value* value = row.find(name);
      if (value == nullptr) return missing(name, row);
      kept.push_back({name, std::move(*value)});
    }
    row.fields = std::move(kept);
    return {};
  }

 private:
  std::vector<std::string> names_;
};

class Rename final : public RowStep {
 public:
  explicit Rename(std::vector<std::pair<std::string, std::string>> names)
      : names_(std::move(names)) {}
  Status run(const RowTask&, Row& row) const override {
    for (const auto& [from, to] : names_) {
      if (row.find(from) == nullptr) return missing(from, row);
    }
    // All at once, so that two fields can change names.
    for (RowField& field : row.fields) {
      const auto is_it = [&field](const auto& one) { return one.first == field.name; };
      const auto found = std::find_if(names_.begin(), names_.end(), is_it);
      if (found != names_.end()) field.name = found->second;
    }
    for (const auto& [from, to] : names_) {
      const auto is_it = [&to = to](const RowField& field) { return field.name == to; };
      if (std::count_if(row.fields.begin(), row.fields.end(), is_it) > 1) {
        return Error(Code::invalid_argument, "rename: there is a field '" + to + "' already");
      }
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

Error damaged(std::string message) {
  return Error(Code::corrupt, std::move(message));
}

Result<Value> decode_integer(const Bytes& bytes) {
  std::string_view text = bytes.text();
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) {
    return damaged("not an integer: '" + std::string(text.substr(0, 40)) + "'");
  }
  return Value(number);
}

// Where the text stops being UTF-8, or nothing. Overlong forms and surrogates are not UTF-8.
std::optional<std::size_t> not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    const int more = lead < 0x80   ? 0
                     : lead < 0xC2 ? -1
                     : lead < 0xE0 ? 1
                     : lead < 0xF0 ? 2
                     : lead < 0xF5 ? 3
                                   : -1;
    if (more < 0 || i + static_cast<std::size_t>(more) >= text.size()) return i;
    for (int k = 1; k <= more; ++k) {
      if ((byte(i + static_cast<std::size_t>(k)) & 0xC0) != 0x80) return i;
    }
    if (more > 1) {
      const unsigned char next = byte(i + 1);
      if ((lead == 0xE0 && next < 0xA0) || (lead == 0xED && next > 0x9F) ||
          (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next > 0x8F)) {
        return i;
      }
    }
    i += static_cast<std::size_t>(more) + 1;
  }
  return std::nullopt;
}

Result<Value> decode_text(const Bytes& bytes) {
  if (const auto at = not_utf8(bytes.text())) {
    return damaged("not UTF-8 at byte " + std::to_string(*at));
  }
  return Value(Text{bytes});
}

Result<Value> decode_json(const Bytes& bytes) {
  Result<JsonPtr> json = parse_json(bytes.text());
  if (!json) return std::move(json).error();
  return Value(*std::move(json));
}

Result<Value> decode_array(const Bytes& bytes) {
  Result<Tensor> array = parse_npy(bytes);
  if (!array) return std::move(array).error();
  return Value(*std::move(array));
}

class Decode final : public RowStep {
 public:
  using Function = Result<Value> (*)(const Bytes&);
  Decode(std::string field, Function decode) : field_(std::move(field)), decode_(decode) {}
  std::string name() const override { return "decode " + field_; }
  Status run(const RowTask&, Row& row) const override {
    Value* value = row.find(field_);
    if (value == nullptr) return missing(field_, row);
    const Bytes* bytes = std::get_if<Bytes>(value);
    if (bytes == nullptr) bytes = std::get_if<Text>(value);
    if (bytes == nullptr) {
      return Error(Code::invalid_argument, "decode: '" + field_ + "' is decoded already");
    }
    Result<Value> decoded = decode_(*bytes);
    if (!decoded) {
      return Error(decoded.error().code(), "field '" + field_ + "': " + decoded.error().message());
    }
    *value = *std::move(decoded);
    return {};
  }

 private:
  std::string field_;
  Function decode_;
};

}  // namespace

StepPtr select_step(std::vector<std::string> names) {
  return std::make_shared<Select>(std::move(names));
}

StepPtr rename_step(std::vector<std::pair<std::string, std::string>> names) {
  return std::make_shared<Rename>(std::move(names));
}

Result<StepPtr> decode_step(std::string field, const std::string& kind) {
  const Decode::Function decode = kind == "cls"    ? decode_integer
                                  : kind == "txt"  ? decode_text
                                  : kind == "json" ? decode_json
                                  : kind == "npy"  ? decode_array
                                                   : nullptr;
  if (decode == nullptr) {
    return Error(Code::invalid_argument,
                 "decode: '" + kind + "' is not one of cls, txt, json, npy");
  }
  return StepPtr(std::make_shared<Decode>(std::move(field), decode));
}

}  // namespace penstock::data

#include "data/json.h"

#include <simdjson.h>

#include <string>

namespace penstock::data {
namespace {

namespace dom = simdjson::dom;

// Numbers that the parser refuses go through it as texts. Then all texts bear a mark, so that
// they can be told apart.
constexpr char kText = '=', kNumber = '#';

class Document final : public Json {
 public:
  void visit(Visitor& visitor) const override { tell(document.root(), visitor); }
  std::size_t bytes() const noexcept override { return size; }

  dom::document document;
  std::size_t size = 0;
  bool marked = false;

 private:
  std::string_view unmarked(std::string_view text) const { return marked ? text.substr(1) : text; }

  void tell(dom::element element, Visitor& to) const {
    switch (element.type()) {
      case dom::element_type::ARRAY: {
        const dom::array items = element.get_array().value_unsafe();
        to.list(items.size());
        for (const dom::element item : items) tell(item, to);
        return to.end();
      }
      case dom::element_type::OBJECT: {
        const dom::object fields = element.get_object().value_unsafe();
        to.object();
        for (const auto& [name, value] : fields) {
          to.key(unmarked(name));
          tell(value, to);
        }
        return to.end();
      }
      case dom::element_type::STRING: {
        const std::string_view text = element.get_string().value_unsafe();
        return marked && text.front() == kNumber ? to.other_number(text.substr(1))
                                                 : to.text(unmarked(text));
      }
      case dom::element_type::INT64:
        return to.number(std::int64_t{element.get_int64().value_unsafe()});
      case dom::element_type::UINT64:
        return to.number(std::uint64_t{element.get_uint64().value_unsafe()});
      case dom::element_type::DOUBLE:
        return to.number(element.get_double().value_unsafe());
      case dom::element_type::BOOL:
        return to.boolean(element.get_bool().value_unsafe());
      case dom::element_type::NULL_VALUE:
        return to.null();
    }
  }
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The length of the number, as Python's json takes it, that the text begins with; 0: none.
std::size_t number_length(std::string_view text) {
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text.starts_with(word)) return word.size();
  }
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - first;
  };
  const bool zero = at < text.size() && text[at] == '0';
  const std::size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return 0;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return 0;
  }
  return at;
}

// The same text with its numbers as texts, and all texts marked.
std::string mark(std::string_view text) {
  std::string marked;
  marked.reserve(text.size() + text.size() / 2 + simdjson::SIMDJSON_PADDING);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
      marked.append("\"").append(1, kText).append(text.substr(i + 1, end - i - 1));
      i = end;
    } else if (const std::size_t length = number_length(text.substr(i)); length > 0) {
      marked.append("\"").append(1, kNumber).append(text.substr(i, length)).append("\"");
      i += length;
    } else {
      marked += text[i++];
    }
  }
  return marked;
}

// A number that was made a text must not pass for a key.
bool keys_are_texts(dom::element element) {
  if (element.is_array()) {
    const dom::array items = element.get_array().value_unsafe();
    for (const dom::element item : items) {
      if (!keys_are_texts(item)) return false;
    }
  } else if (element.is_object()) {
    const dom::object fields = element.get_object().value_unsafe();
    for (const auto& [name, value] : fields) {
      if (name.front() == kNumber || !keys_are_texts(value)) return false;
    }
  }
  return true;
}

// The parser's memory is used again by the next one of this thread.
simdjson::error_code parse(std::string_view text, Document& into) {
  thread_local dom::parser parser;
  return parser.parse_into_document(into.document, text.data(), text.size()).error();
}

}  // namespace

Result<JsonPtr> parse_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) return Error(Code::corrupt, "not JSON: there is nothing in it");
  const auto made = std::make_shared<Document>();
  made->size = sizeof(Document) + 12 * text.size();  // the parser's tape and texts
  simdjson::error_code code = parse(text, *made);
  if (code == simdjson::SUCCESS) return JsonPtr(made);
  made->marked = true;
  if (parse(mark(text), *made) == simdjson::SUCCESS && keys_are_texts(made->document.root())) {
    return JsonPtr(made);
  }
  return Error(Code::corrupt, std::string("not JSON: ") + simdjson::error_message(code));
}

}  // namespace penstock::data

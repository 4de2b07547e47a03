// tf.train.Example and SequenceExample: what is parsed into which fields, and what is refused.
#include "formats/tfrecord/example.h"

#include <gtest/gtest.h>

#include "tfrecords.h"

namespace penstock::formats::tfrecord {
namespace {

// Protobuf by hand.
std::string field(int number, std::string_view bytes) {
  std::string text(1, char(number << 3 | 2));
  for (std::size_t size = bytes.size();; size >>= 7) {
    text.push_back(char(size >= 0x80 ? size | 0x80 : size));
    if (size < 0x80) break;
  }
  return text + std::string(bytes);
}
std::string entry(std::string_view name, std::string_view message) {
  return field(1, field(1, name) + field(2, message));
}
std::string floats(std::initializer_list<float> values) {
  std::string packed;
  for (const float value : values) packed.append(reinterpret_cast<const char*>(&value), 4);
  return field(2, field(1, packed));
}
std::string integers(std::initializer_list<int> small) {
  std::string packed;
  for (const int value : small) packed.push_back(char(value));
  return field(3, field(1, packed));
}
std::string words(std::initializer_list<std::string_view> values) {
  std::string list;
  for (const std::string_view value : values) list += field(1, value);
  return field(1, list);
}

struct Parsed {
  Status status;
  std::vector<FeatureValue> values;
  Buffer memory;

  template <class T>
  std::vector<T> array(std::size_t i) const {
    const std::size_t count = std::size_t(values[i].shape[0]) *
                              (values[i].shape.rank() > 1 ? std::size_t(values[i].shape[1]) : 1);
    const T* first = reinterpret_cast<const T*>(memory.data() + values[i].offset);
    return {first, first + count};
  }
  std::string text(std::size_t i) const {
    return {reinterpret_cast<const char*>(values[i].bytes.data()), values[i].bytes.size()};
  }
};

Parsed parse(const std::string& record,
             std::initializer_list<std::pair<const char*, const char*>> fields) {
  std::vector<FeatureSpec> specs;
  for (const auto& [name, text] : fields) {
    Result<FeatureSpec> spec = parse_spec(name, text);
    EXPECT_TRUE(spec.ok()) << text;
    specs.push_back(*std::move(spec));
  }
  Parsed parsed;
  BufferPool pool;
  parsed.status = ExampleParser(specs).parse(bytes_of(record), pool, parsed.values, parsed.memory);
  return parsed;
}

const std::string kExample =
    field(1, entry("image", words({"jpeg"})) + entry("label", integers({7})) +
                 entry("box", floats({1, 2, 3, 4})) + entry("tokens", integers({1, 2, 3})) +
                 entry("score", floats({0.5F})) + entry("names", words({"a", "", "ccc"})));

TEST(Example, fields_have_the_types_and_shapes_that_were_asked_for) {
  const Parsed got = parse(kExample, {{"label", "int64"},
                                      {"image", "bytes"},
                                      {"box", "float[2,2]"},
                                      {"tokens", "int64[]"},
                                      {"score", "float"},
                                      {"names", "bytes[]"},
                                      {"all", "raw"}});
  ASSERT_TRUE(got.status.ok()) << got.status.error().to_string();
  EXPECT_EQ(got.values[0].integer, 7);
  EXPECT_EQ(got.text(1), "jpeg");
  EXPECT_EQ(got.values[2].shape, (Dims{2, 2}));
  EXPECT_EQ(got.array<float>(2), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(got.array<std::int64_t>(3), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(got.values[4].real, 0.5F);
  ASSERT_EQ(got.values[5].items.size(), 3U);
  EXPECT_EQ(got.values[5].items[2].size(), 3U);
  EXPECT_EQ(got.text(6), kExample);
}

TEST(Example, numbers_that_are_not_packed_are_read_too) {
  std::string list;  // 1: varint 300, then packed 1, 2
  list += std::string("\x08\xac\x02", 3) + field(1, std::string("\x01\x02", 2));
  const Parsed got = parse(field(1, entry("x", field(3, list))), {{"x", "int64[]"}});
  ASSERT_TRUE(got.status.ok());
  EXPECT_EQ(got.array<std::int64_t>(0), (std::vector<std::int64_t>{300, 1, 2}));
  float one = 1.5;
  std::string single(1, '\x0d');
  single.append(reinterpret_cast<const char*>(&one), 4);
  const Parsed real = parse(field(1, entry("x", field(2, single))), {{"x", "float"}});
  ASSERT_TRUE(real.status.ok());
  EXPECT_EQ(real.values[0].real, 1.5F);
}

TEST(Example, negative_numbers_take_ten_bytes) {
  ExampleBuilder builder;
  const std::vector<std::int64_t> numbers{-1, INT64_MIN, INT64_MAX, 0};
  builder.add_integers("x", numbers);
  const Parsed got = parse(builder.finish(), {{"x", "int64[4]"}});
  ASSERT_TRUE(got.status.ok());
  EXPECT_EQ(got.array<std::int64_t>(0), numbers);
}

TEST(Example, steps_of_a_sequence_example_become_rows) {
  const std::string steps =
      field(1, floats({1, 2})) + field(1, floats({3, 4})) + field(1, floats({5, 6}));
  const std::string frames = field(1, words({"f0"})) + field(1, words({"f1"}));
  const std::string record = field(1, entry("label", integers({3}))) +
                             field(2, entry("pose", steps) + entry("frames", frames));
  const Parsed got =
      parse(record, {{"label", "int64"}, {"pose", "float[][2]"}, {"frames", "bytes[]"}});
  ASSERT_TRUE(got.status.ok()) << got.status.error().to_string();
  EXPECT_EQ(got.values[1].shape, (Dims{3, 2}));
  EXPECT_EQ(got.array<float>(1), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(got.values[2].items.size(), 2U);
  const Parsed uneven =
      parse(field(2, entry("x", field(1, integers({1})) + field(1, integers({1, 2, 3})))),
            {{"x", "int64[][2]"}});
  ASSERT_FALSE(uneven.status.ok());
  EXPECT_NE(uneven.status.error().message().find("from 1 to 3 values"), std::string::npos);
}

TEST(Example, what_does_not_fit_is_refused_by_name) {
  const auto why = [](const std::string& record, const char* name, const char* text) {
    const Parsed got = parse(record, {{name, text}});
    return got.status.ok() ? std::string() : got.status.error().to_string();
  };
  EXPECT_NE(why(kExample, "label", "float").find("'label' holds int64"), std::string::npos);
  EXPECT_NE(why(kExample, "tokens", "int64").find("has 3 values"), std::string::npos);
  EXPECT_NE(why(kExample, "box", "float[3]").find("has 4 values"), std::string::npos);
  EXPECT_NE(why(kExample, "nothing", "int64").find("no feature 'nothing'"), std::string::npos);
  EXPECT_EQ(why(kExample, "nothing", "int64[]"), "");
  EXPECT_NE(why("rubbish", "x", "int64").find("no tf.train.Example"), std::string::npos);
  EXPECT_EQ(why("rubbish", "x", "raw"), "");
}

TEST(Example, cut_anywhere_it_is_refused_or_smaller_but_never_read_beyond) {
  for (std::size_t size = 0; size < kExample.size(); ++size) {
    const std::string cut = kExample.substr(0, size);
    const std::vector<char> exact(cut.begin(), cut.end());  // so that a sanitizer sees its end
    std::vector<FeatureValue> values;
    Buffer memory;
    BufferPool pool;
    const ExampleParser parser({*parse_spec("box", "float[]"), *parse_spec("names", "bytes[]")});
    const auto bytes = std::as_bytes(std::span(exact));
    if (!parser.parse(bytes, pool, values, memory)) continue;
    ASSERT_EQ(values.size(), 2U) << size;
    EXPECT_LE(values[0].shape[0] * std::int64_t(sizeof(float)), std::int64_t(size)) << size;
    for (const auto& item : values[1].items) {
      EXPECT_GE(item.data(), bytes.data());
      EXPECT_LE(item.data() + item.size(), bytes.data() + bytes.size());
    }
  }
}

TEST(Example, fields_are_inferred_from_a_record) {
  const std::vector<FeatureSpec> specs = infer(bytes_of(kExample)).specs;
  std::vector<std::string> got;
  for (const FeatureSpec& spec : specs) got.push_back(spec.name + ":" + spec.text());
  EXPECT_EQ(got, (std::vector<std::string>{"box:float[]", "image:bytes", "label:int64",
                                           "names:bytes[]", "score:float", "tokens:int64[]"}));
  EXPECT_TRUE(infer(bytes_of("no example at all")).specs.empty());
  EXPECT_TRUE(infer({}).specs.empty());
}

TEST(Example, what_is_inferred_reads_the_record_itself) {
  const std::string steps = field(1, integers({0, 1})) + field(1, integers({0, 1, 2}));
  const std::string even = field(1, floats({1, 2})) + field(1, floats({3, 4}));
  const std::string pairs = field(1, words({"a", "b"})) + field(1, words({"c", "d"}));
  const std::string mixed = field(1, integers({1})) + field(1, floats({1}));
  const std::string record =
      field(1, entry("box", floats({})) + entry("none", "")) +
      field(2, entry("tok", steps) + entry("pose", even) + entry("pairs", pairs) +
                   entry("empty", field(1, integers({}))) + entry("no", "") + entry("mix", mixed));
  const Inferred found = infer(bytes_of(record));
  std::vector<std::string> got;
  for (const FeatureSpec& spec : found.specs) got.push_back(spec.name + ":" + spec.text());
  EXPECT_EQ(got, (std::vector<std::string>{"box:float[]", "empty:int64[][]", "pairs:bytes[][]",
                                           "pose:float[][2]", "tok:int64[][]"}));
  EXPECT_EQ(found.untyped, (std::vector<std::string>{"mix", "no", "none"}));
  std::vector<FeatureValue> values;
  Buffer memory;
  BufferPool pool;
  ASSERT_TRUE(ExampleParser(found.specs).parse(bytes_of(record), pool, values, memory).ok());
  EXPECT_EQ(values[0].shape, (Dims{0}));
  EXPECT_EQ(values[1].lengths, (std::vector<std::size_t>{0}));
  EXPECT_EQ(values[2].items.size(), 4U);
  EXPECT_EQ(values[4].lengths, (std::vector<std::size_t>{2, 3}));
  const Parsed tok{{}, values, memory};
  EXPECT_EQ(tok.array<std::int64_t>(4), (std::vector<std::int64_t>{0, 1, 0, 1, 2}));
  const Parsed uneven = parse(record, {{"tok", "int64[][2]"}});
  ASSERT_FALSE(uneven.status.ok());
  EXPECT_EQ(uneven.status.error().code(), Code::invalid_argument);
  EXPECT_NE(uneven.status.error().message().find("int64[][]"), std::string::npos);
}

TEST(Example, what_users_write_is_understood_or_refused) {
  for (const char* text :
       {"int64", "float[4]", "float[2,3]", "int64[]", "float[][4]", "bytes[]", "raw", "text"}) {
    const Result<FeatureSpec> spec = parse_spec("x", text);
    ASSERT_TRUE(spec.ok()) << text;
    EXPECT_EQ(spec->text(), text);
  }
  for (const char* text : {"", "int", "float[", "float[0]", "float[-1]", "float[4][]", "bytes[3]",
                           "raw[]", "text[]", "int64[1]x"}) {
    EXPECT_FALSE(parse_spec("x", text).ok()) << text;
  }
}

}  // namespace
}  // namespace penstock::formats::tfrecord

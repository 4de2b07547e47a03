// Tars made by hand, so that every byte of them can be wrong.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/open.h"
#include "formats/records.h"
#include "formats/tar/tar.h"

namespace penstock::formats {

class Tar {
 public:
  // A header and its bytes; the header's size can be a lie.
  Tar& member(std::string_view name, std::string_view bytes, char type = '0') {
    bytes_ += header(name, bytes.size(), type);
    return raw(bytes);
  }
  Tar& gnu_long_name(std::string_view name) {
    return member("././@LongLink", std::string(name) + '\0', 'L');
  }
  Tar& pax(const std::vector<std::pair<std::string, std::string>>& records) {
    std::string text;
    for (const auto& [key, value] : records) text += pax_record(key, value);
    return member("PaxHeaders/x", text, 'x');
  }
  Tar& raw(std::string_view bytes) {  // filled up to whole blocks
    bytes_ += bytes;
    bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
    return *this;
  }
  Tar& end() { return raw(std::string(1024, '\0')); }

  std::size_t size() const { return bytes_.size(); }
  std::string& bytes() { return bytes_; }

  static std::string header(std::string_view name, std::size_t size, char type = '0') {
    std::string block(512, '\0');
    std::memcpy(block.data(), name.data(), std::min<std::size_t>(name.size(), 100));
    std::snprintf(block.data() + 100, 8, "%07o", 0644);
    std::snprintf(block.data() + 124, 12, "%011zo", size);
    std::snprintf(block.data() + 136, 12, "%011o", 1);
    block[156] = type;
    std::memcpy(block.data() + 257, "ustar\00000", 8);
    return with_checksum(block);
  }
  static std::string with_checksum(std::string block) {
    std::memset(block.data() + 148, ' ', 8);
    unsigned sum = 0;
    for (const char byte : block) sum += static_cast<unsigned char>(byte);
    std::snprintf(block.data() + 148, 8, "%06o", sum);
    return block;
  }
  static std::string pax_record(const std::string& key, const std::string& value) {
    const std::string body = " " + key + "=" + value + "\n";
    std::size_t length = body.size() + 1;
    while (std::to_string(length).size() + body.size() != length) ++length;
    return std::to_string(length) + body;
  }

 private:
  std::string bytes_;
};

// "000003": jpg and cls, like most shards.
inline Tar shard(int samples, std::size_t size = 700) {
  Tar tar;
  for (int i = 0; i < samples; ++i) {
    char key[16];
    std::snprintf(key, sizeof(key), "%06d", i);
    tar.member(std::string(key) + ".jpg", std::string(size, char('a' + i % 26)));
    tar.member(std::string(key) + ".cls", std::to_string(i));
  }
  return tar;
}
inline std::string key_of(int i) {
  char key[16];
  std::snprintf(key, sizeof(key), "%06d", i);
  return key;
}

using Fields = std::map<std::string, std::string>;  // of one sample, "__key__" included

inline Fields fields_of(const Record& record) {
  Fields all;
  for (const Field& field : record.fields) {
    all[std::string(field.name)] = field.kind == FieldKind::integer ? std::to_string(field.integer)
                                                                    : std::string(field.text());
  }
  return all;
}

// What a reading gave: samples, and the words of errors, in order.
struct Outcome {
  std::vector<Fields> samples;
  std::vector<Error> errors;
  std::vector<int> order;  // 0 for a sample, 1 for an error
  Findings findings;

  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (const Fields& sample : samples) all.push_back(sample.at("__key__"));
    return all;
  }
};

inline Outcome drain(RecordStream& stream) {
  Outcome outcome;
  Record record;
  for (int calls = 0; calls < 100000; ++calls) {
    const Result<bool> more = stream.next(record);
    if (more.ok() && !*more) break;
    outcome.order.push_back(more.ok() ? 0 : 1);
    if (more.ok()) outcome.samples.push_back(fields_of(record));
    if (!more.ok()) {
      outcome.errors.push_back(more.error());
      EXPECT_TRUE(record.fields.empty());
    }
  }
  outcome.findings = stream.findings();
  return outcome;
}

// Both ways of reading large members give the same.
inline Outcome stream(const std::string& bytes, OpenOptions options = {}) {
  BufferPool pool;
  const auto read = [&] {
    return drain(*tar::stream_memory(std::as_bytes(std::span(bytes)), pool, options));
  };
  const Outcome all = read();
  options.large_members = [](std::size_t size) { return Buffer::allocate(size); };
  const Outcome again = read();
  EXPECT_EQ(all.samples, again.samples);
  EXPECT_EQ(all.order, again.order);
  EXPECT_EQ(all.errors.size(), again.errors.size());
  return all;
}

inline Outcome read_all(const Records& records) {
  Outcome outcome;
  BufferPool pool;
  Record record;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    const Status status = records.read(i, pool, record);
    outcome.order.push_back(status.ok() ? 0 : 1);
    if (status.ok()) {
      outcome.samples.push_back(fields_of(record));
      EXPECT_LE(record.memory.size(), std::max<std::uint64_t>(records.bytes(i), 1));
      EXPECT_LE(records.bytes(i), records.largest());
    } else {
      outcome.errors.push_back(status.error());
      EXPECT_TRUE(record.fields.empty());
    }
  }
  outcome.findings = records.findings();
  return outcome;
}

}  // namespace penstock::formats

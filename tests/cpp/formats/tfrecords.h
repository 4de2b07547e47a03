// TFRecord files and Examples made by hand, so that every byte of them can be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tfrecord/frame.h"
#include "formats/tfrecord/tfrecord.h"
#include "formats/tfrecord/writer.h"

namespace penstock::formats::tfrecord {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string number32(std::uint32_t number) {
  std::string text(4, '\0');
  std::memcpy(text.data(), &number, 4);
  return text;
}

inline std::string header(std::uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text + number32(masked(crc32c(bytes_of(text))));
}

inline std::string framed(std::string_view record) {
  return header(record.size()) + std::string(record) + number32(masked(crc32c(bytes_of(record))));
}

// "record 0", "record 1", ...
inline std::string record_of(int i) {
  return std::string("record ").append(std::to_string(i));
}
inline std::string file_of(int records) {
  std::string all;
  for (int i = 0; i < records; ++i) all += framed(record_of(i));
  return all;
}

// What a reading gave: records, and "!" and a message for each that could not be read.
inline std::vector<std::string> drain(RecordStream& stream) {
  std::vector<std::string> all;
  Record record;
  for (;;) {
    const Result<bool> more = stream.next(record);
    if (more.ok() && !*more) return all;
    all.push_back(more.ok() ? std::string(record.fields.at(0).text())
                            : std::string("!").append(more.error().to_string()));
  }
}

inline std::vector<std::string> stream(std::string_view bytes, const OpenOptions& options = {}) {
  BufferPool pool;
  return drain(*stream_memory(bytes_of(bytes), pool, options));
}

inline std::vector<std::string> read_all(const Records& records) {
  std::vector<std::string> all;
  BufferPool pool;
  Record record;
  for (std::uint64_t i = 0; i < records.size(); ++i) {
    const Status status = records.read(i, pool, record);
    all.push_back(status.ok() ? std::string(record.fields.at(0).text())
                              : std::string("!").append(status.error().to_string()));
  }
  return all;
}

}  // namespace penstock::formats::tfrecord

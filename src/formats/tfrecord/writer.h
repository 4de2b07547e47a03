// Writing TFRecord files, and the Examples in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tfrecord/packing.h"
#include "penstock/error.h"

namespace penstock::formats::tfrecord {

// Appends records to a new file. One thread at a time.
class Writer {
 public:
  // A file of that name is replaced when close() succeeds, and left alone if it is never called.
  static Result<std::unique_ptr<Writer>> create(std::string path, Packing packing);
  virtual ~Writer() = default;

  virtual Status write(std::span<const std::byte> record) = 0;
  // All is on its way to the disk under its name. Afterwards write() fails with closed.
  virtual Status close() = 0;
};

// A tf.train.Example, put together feature by feature.
class ExampleBuilder {
 public:
  void add_bytes(std::string_view name, std::span<const std::span<const std::byte>> values);
  void add_integers(std::string_view name, std::span<const std::int64_t> values);
  void add_floats(std::string_view name, std::span<const float> values);

  // The serialized Example; the builder is empty again.
  std::string finish();

 private:
  void add(std::string_view name, std::uint32_t kind, const std::string& list);
  std::string features_;
};

}  // namespace penstock::formats::tfrecord

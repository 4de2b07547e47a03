// The pictures in tests/data/images, and memory for what is decoded from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "penstock/media.h"

namespace penstock::test {

inline std::filesystem::path image_folder() {
  return "tests/data/images";
}

inline std::vector<std::byte> image_file(const std::string& name) {
  std::ifstream stream(image_folder() / name, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

// Memory that grows to the picture.
class Pixels final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& given) override {
    shape = given;
    bytes.assign(std::size_t(given.bytes()), 0xA5);
    return PixelMemory{bytes.data(), std::ptrdiff_t(given.row_bytes())};
  }
  std::uint64_t hash() const {
    std::uint64_t value = 0xCBF29CE484222325;
    for (const std::uint8_t byte : bytes) value = (value ^ byte) * 0x100000001B3;
    return value;
  }
  ConstImageView view() const {
    return {bytes.data(), shape.height, shape.width, shape.channels,
            std::ptrdiff_t(shape.row_bytes())};
  }

  ImageShape shape;
  std::vector<std::uint8_t> bytes;
};

inline DecodeOptions in_mode(PixelMode mode) {
  DecodeOptions options;
  options.mode = mode;
  return options;
}

}  // namespace penstock::test

#include "storage/stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <random>
#include <thread>

#include "temp_folder.h"

namespace penstock::storage {
namespace {

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = i % 3 == 0 ? char(random()) : char(i / 100);
  return bytes;
}

std::string gzip(const std::string& bytes) {
  z_stream state{};
  EXPECT_EQ(::deflateInit2(&state, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&state, bytes.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = uInt(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = uInt(packed.size());
  EXPECT_EQ(::deflate(&state, Z_FINISH), Z_STREAM_END);
  packed.resize(state.total_out);
  ::deflateEnd(&state);
  return packed;
}

std::string zstd(const std::string& bytes) {
  std::string packed(::ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::unique_ptr<Stream> over(const std::string& bytes) {
  return stream_over(std::as_bytes(std::span(bytes)), "memory");
}

// All bytes, read in pieces of varying size; the error that ended it, if one did.
std::string drain(Stream& stream, std::optional<Error>* failure = nullptr) {
  std::string all;
  for (std::size_t size = 1;; size = size * 3 % 70001 + 1) {
    std::string piece(size, '\0');
    const Result<std::size_t> count = stream.read(std::as_writable_bytes(std::span(piece)));
    if (!count) {
      if (failure != nullptr) *failure = count.error();
      return all;
    }
    if (*count == 0) return all;
    all.append(piece, 0, *count);
  }
}

TEST(Gunzip, unpacks_members_and_padding) {
  const std::string bytes = noise(1 << 20);
  const std::string packed =
      gzip(bytes.substr(0, 300000)) + gzip(bytes.substr(300000)) + std::string(700, '\0');
  EXPECT_EQ(drain(*gunzip(over(packed))), bytes);
}

TEST(Gunzip, says_that_it_was_cut_or_damaged) {
  const std::string bytes = noise(100000);
  std::string packed = gzip(bytes);
  std::optional<Error> failure;
  const auto cut = gunzip(stream_over(std::as_bytes(std::span(packed)).first(5000), "x.gz"));
  EXPECT_TRUE(bytes.starts_with(drain(*cut, &failure)));
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), Code::corrupt);
  EXPECT_EQ(failure->where().file, "x.gz");
  std::byte one[1];
  EXPECT_EQ(*cut->read(one), 0U) << "after an error it has ended";

  packed[packed.size() / 2] = char(~packed[packed.size() / 2]);
  failure.reset();
  drain(*gunzip(over(packed)), &failure);
  EXPECT_TRUE(failure.has_value());
}

TEST(Gunzip, gives_what_was_unpacked_before_the_damage) {
  const std::string bytes = noise(1000);
  std::string packed = gzip(bytes);
  packed.back() = char(~packed.back());  // the length, behind all of it
  std::optional<Error> failure;
  EXPECT_EQ(drain(*gunzip(over(packed)), &failure), bytes);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), Code::corrupt);
}

TEST(Unzstd, unpacks_frames) {
  const std::string bytes = noise(1 << 20);
  const std::string packed = zstd(bytes.substr(0, 300000)) + zstd("") + zstd(bytes.substr(300000));
  EXPECT_EQ(drain(*unzstd(over(packed))), bytes);
}

TEST(Unzstd, says_that_it_was_cut_or_damaged) {
  const std::string bytes = noise(300000);
  std::string packed = zstd(bytes);
  std::optional<Error> failure;
  EXPECT_TRUE(
      bytes.starts_with(drain(*unzstd(over(packed.substr(0, packed.size() - 3))), &failure)));
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), Code::corrupt);
  failure.reset();
  drain(*unzstd(over("this is not zstd")), &failure);
  EXPECT_TRUE(failure.has_value());
}

TEST(Stream, files_skip_without_reading) {
  const TempFolder folder;
  const auto stream = open_stream(folder.write("a", "0123456789"));
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ((*stream)->size(), 10U);
  ASSERT_TRUE((*stream)->skip(7).ok());
  EXPECT_EQ(drain(**stream), "789");
  ASSERT_TRUE((*stream)->skip(1000).ok());
  EXPECT_EQ(drain(**stream), "");
}

TEST(Stream, packed_ones_skip_by_reading) {
  const std::string bytes = noise(200000);
  const std::string packed = gzip(bytes);
  const auto stream = gunzip(over(packed));
  ASSERT_TRUE(stream->skip(150001).ok());
  EXPECT_EQ(drain(*stream), bytes.substr(150001));
}

TEST(Stream, reads_pipes) {
  const TempFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string bytes = noise(300000);
  const std::jthread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  const auto stream = open_stream(path);
  ASSERT_TRUE(stream.ok());
  EXPECT_FALSE((*stream)->size().has_value());
  ASSERT_TRUE((*stream)->skip(10).ok());
  EXPECT_EQ(drain(**stream), bytes.substr(10));
}

TEST(Packing, is_known_by_the_first_bytes) {
  const auto of = [](const std::string& bytes) {
    return packing_of(std::as_bytes(std::span(bytes)));
  };
  EXPECT_EQ(of(gzip("x")), Packing::gzip);
  EXPECT_EQ(of(zstd("x")), Packing::zstd);
  EXPECT_EQ(of("x"), Packing::none);
  EXPECT_EQ(of(""), Packing::none);
}

}  // namespace
}  // namespace penstock::storage

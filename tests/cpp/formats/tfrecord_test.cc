// TFRecord files: read from front to back and by index, whole, damaged and cut.
#include <gtest/gtest.h>

#include <filesystem>

#include "../storage/temp_folder.h"
#include "formats/sidecar.h"
#include "tfrecords.h"

namespace penstock::formats::tfrecord {
namespace {

using Texts = std::vector<std::string>;

Result<std::shared_ptr<const Records>> open(const std::string& path, bool write_index = true,
                                            bool verify = true) {
  OpenOptions options;
  options.write_index = write_index;
  options.verify = verify;
  return open_records({path}, options);
}

bool is_error(const std::string& text, std::string_view words) {
  return text.starts_with("!") && text.find(words) != text.npos;
}

std::string numbered(std::size_t number) {
  return std::to_string(number).append(".tfrecord");
}

TEST(TFRecord, stream_and_index_give_the_same_records) {
  const TempFolder folder;
  const std::string bytes = file_of(1000) + framed("") + framed(std::string(3 << 20, 'x'));
  const std::string path = folder.write("a.tfrecord", bytes);
  const Texts streamed = stream(bytes);
  ASSERT_EQ(streamed.size(), 1002U);
  EXPECT_EQ(streamed[999], "record 999");
  EXPECT_EQ(streamed[1000], "");
  const auto records = open(path);
  ASSERT_TRUE(records.ok()) << records.error().to_string();
  EXPECT_EQ(read_all(**records), streamed);
  EXPECT_EQ((*records)->fields(), Texts{"data"});
  EXPECT_EQ((*records)->name(7), path + ":7");
  EXPECT_TRUE(std::filesystem::exists(path + ".psidx"));
  BufferPool pool;
  const std::vector<std::uint64_t> some{999, 3, 1001, 3};
  std::vector<Record> read(some.size());
  std::vector<Status> outcomes(some.size());
  (*records)->read_many(some, pool, read, outcomes);
  for (std::size_t i = 0; i < some.size(); ++i) {
    ASSERT_TRUE(outcomes[i].ok());
    EXPECT_EQ(read[i].fields[0].text(), streamed[some[i]]);
    EXPECT_LE((*records)->bytes(some[i]), (*records)->largest());
  }
}

TEST(TFRecord, names_tell_the_format) {
  const TempFolder folder;
  for (const char* name : {"a.tfrecord", "a.tfrecords", "a.tfrecord-00003-of-00010"}) {
    EXPECT_TRUE(open(folder.write(name, file_of(2))).ok()) << name;
  }
  EXPECT_FALSE(open(folder.write("a.tfrecordings", file_of(2))).ok());
}

TEST(TFRecord, an_empty_file_has_no_records) {
  const TempFolder folder;
  EXPECT_EQ(stream(""), Texts{});
  const auto records = open(folder.write("a.tfrecord", ""));
  ASSERT_TRUE(records.ok()) << records.error().to_string();
  EXPECT_EQ((*records)->size(), 0U);
}

TEST(TFRecord, every_flipped_bit_costs_one_record_and_says_so) {
  const TempFolder folder;
  const std::string sound = file_of(5);
  const Texts before = stream(sound);
  const std::size_t begin = 2 * framed(record_of(0)).size(), end = 3 * framed(record_of(0)).size();
  for (std::size_t at = begin; at < end; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = sound;
      bytes[at] = char(bytes[at] ^ (1 << bit));
      Texts got = stream(bytes);
      ASSERT_EQ(got.size(), 5U) << at << " " << bit;
      EXPECT_TRUE(is_error(got[2], "corrupt")) << got[2];
      EXPECT_TRUE(is_error(got[2], "sample 2")) << got[2];
      const auto records = open(folder.write(numbered(at * 8 + std::size_t(bit)), bytes), false);
      ASSERT_TRUE(records.ok());
      Texts indexed = read_all(**records);
      ASSERT_EQ(indexed.size(), 5U);
      EXPECT_TRUE(is_error(indexed[2], "corrupt")) << indexed[2];
      EXPECT_EQ((*records)->findings().damaged, at < begin + kHeaderBytes ? 1U : 0U);
      indexed[2] = got[2] = before[2];
      EXPECT_EQ(got, before);
      EXPECT_EQ(indexed, before);
    }
  }
}

TEST(TFRecord, a_cut_file_loses_its_last_record_only) {
  const TempFolder folder;
  const std::string sound = file_of(3);
  const std::size_t one = framed(record_of(0)).size();
  for (std::size_t size = 2 * one; size < sound.size(); ++size) {
    const std::string bytes = sound.substr(0, size);
    const Texts got = stream(bytes);
    const auto records = open(folder.write(numbered(size), bytes), false);
    ASSERT_TRUE(records.ok());
    EXPECT_EQ(got.size(), size == 2 * one ? 2U : 3U) << size;
    EXPECT_EQ((*records)->size(), got.size());
    EXPECT_EQ((*records)->findings().cut, size == 2 * one ? 0U : 1U);
    if (got.size() == 3) {
      EXPECT_TRUE(is_error(got[2], "cut off")) << got[2];
      EXPECT_TRUE(is_error(read_all(**records)[2], "cut off"));
    }
  }
}

TEST(TFRecord, a_length_beyond_the_end_costs_one_record_if_sound_ones_follow) {
  const TempFolder folder;
  for (const std::uint64_t length :
       {std::uint64_t(1) << 62, ~std::uint64_t(0), std::uint64_t(1000)}) {
    std::string bytes = file_of(30);
    const std::size_t one = framed(record_of(0)).size();
    bytes.replace(5 * one, kHeaderBytes, header(length));
    const Texts got = stream(bytes);
    ASSERT_EQ(got.size(), 30U);
    EXPECT_TRUE(is_error(got[5], std::to_string(one) + " bytes")) << got[5];
    EXPECT_EQ(got[6], "record 6");
    const auto records = open(folder.write(numbered(std::size_t(length % 1000)), bytes));
    ASSERT_TRUE(records.ok());
    EXPECT_EQ(read_all(**records).size(), got.size());
    EXPECT_EQ((*records)->findings().damaged, 1U);
    EXPECT_EQ((*records)->findings().cut, 0U);
  }
}

TEST(TFRecord, a_length_of_two_to_the_62_without_a_record_behind_it_is_a_cut_file) {
  const TempFolder folder;
  const std::string bytes = file_of(2) + header(std::uint64_t(1) << 62) + "rest";
  EXPECT_TRUE(is_error(stream(bytes).at(2), "cut off"));
  const auto records = open(folder.write("a.tfrecord", bytes));
  ASSERT_TRUE(records.ok());
  EXPECT_EQ((*records)->size(), 3U);
  EXPECT_TRUE(is_error(read_all(**records)[2], "cut off"));
}

TEST(TFRecord, rubbish_between_records_is_passed_over_and_measured) {
  const std::string bytes = file_of(2) + std::string(100'000, 'j') + framed("after");
  const Texts got = stream(bytes);
  ASSERT_EQ(got.size(), 4U);
  EXPECT_TRUE(is_error(got[2], "100000 bytes")) << got[2];
  EXPECT_EQ(got[3], "after");
}

TEST(TFRecord, what_is_no_tfrecord_file_is_refused) {
  const TempFolder folder;
  const std::string bytes(5000, 'j');
  EXPECT_TRUE(is_error(stream(bytes).at(0), "not a TFRecord file"));
  const auto records = open(folder.write("a.tfrecord", bytes));
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code(), Code::corrupt);
}

TEST(TFRecord, without_verifying_payloads_are_taken_as_they_are) {
  const TempFolder folder;
  std::string bytes = file_of(3);
  bytes[kHeaderBytes] = 'R';
  OpenOptions options;
  options.verify = false;
  EXPECT_EQ(stream(bytes, options).at(0), "Record 0");
  const auto records = open(folder.write("a.tfrecord", bytes), false, false);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ(read_all(**records).at(0), "Record 0");
}

TEST(TFRecord, a_record_above_the_limit_is_an_error_of_its_own) {
  OpenOptions options;
  options.max_member = 100;
  const Texts got = stream(framed("a") + framed(std::string(101, 'b')) + framed("c"), options);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_TRUE(is_error(got[1], "101 bytes, more than max_member, which is 100")) << got[1];
  EXPECT_EQ(got[2], "c");
}

TEST(TFRecord, a_sidecar_of_another_file_is_refused) {
  const TempFolder folder;
  const std::string a = folder.write("a.tfrecord", file_of(3));
  const std::string b = folder.write("b.tfrecord", file_of(4));
  ASSERT_TRUE(open(a).ok());
  std::filesystem::copy(a + ".psidx", b + ".psidx");
  const auto records = open(b);
  ASSERT_FALSE(records.ok());
  EXPECT_NE(records.error().message().find("penstock index --refresh"), std::string::npos);
}

TEST(TFRecord, a_flipped_bit_in_the_index_is_noticed) {
  const TempFolder folder;
  const std::string path = folder.write("a.tfrecord", file_of(3));
  ASSERT_TRUE(open(path).ok());
  std::string index;
  {
    std::ifstream in(path + ".psidx", std::ios::binary);
    index.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t at = 0; at < index.size(); at += 13) {
    std::string bytes = index;
    bytes[at] = char(bytes[at] ^ 4);
    folder.write("a.tfrecord.psidx", bytes);
    EXPECT_FALSE(open(path).ok()) << at;
  }
}

TEST(TFRecord, a_file_that_shrinks_is_an_io_error) {
  const TempFolder folder;
  const std::string path = folder.write("a.tfrecord", file_of(3));
  const auto records = open(path);
  ASSERT_TRUE(records.ok());
  BufferPool pool;
  Record record;
  ASSERT_TRUE((*records)->read(0, pool, record).ok());
  std::filesystem::resize_file(path, 40);
  const Status status = (*records)->read(2, pool, record);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::io);
}

TEST(TFRecord, what_the_writer_writes_is_read_back_in_every_packing) {
  const TempFolder folder;
  const std::string path = folder / "a.tfrecord";
  for (const Packing packing : {Packing::none, Packing::gzip, Packing::zlib}) {
    auto writer = Writer::create(path, packing);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < 300; ++i) ASSERT_TRUE((*writer)->write(bytes_of(record_of(i))).ok());
    ASSERT_TRUE((*writer)->write(bytes_of(std::string(600'000, 'x'))).ok());
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_EQ((*writer)->write({}).error().code(), Code::closed);
    BufferPool pool;
    const Texts got = drain(*stream_shards({path}, pool, {}));
    ASSERT_EQ(got.size(), 301U);
    EXPECT_EQ(got[299], "record 299");
    EXPECT_EQ(got[300], std::string(600'000, 'x'));
    if (packing != Packing::none) {
      const auto records = open(path);
      ASSERT_FALSE(records.ok());
      EXPECT_EQ(records.error().code(), Code::unsupported);
    }
  }
}

TEST(TFRecord, a_writer_that_is_not_closed_leaves_the_old_file) {
  const TempFolder folder;
  const std::string path = folder.write("a.tfrecord", "old");
  {
    auto writer = Writer::create(path, Packing::none);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->write(bytes_of("new")).ok());
  }
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1U);
}

TEST(TFRecord, damage_in_compressed_data_ends_that_file_and_no_other) {
  const TempFolder folder;
  const std::string path = folder / "a.tfrecord.gz";
  auto writer = Writer::create(path, Packing::gzip);
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE((*writer)->write(bytes_of(record_of(i * 77))).ok());
  ASSERT_TRUE((*writer)->close().ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  BufferPool pool;
  const Texts got = drain(*stream_shards({path, folder.write("b.tfrecord", file_of(2))}, pool, {}));
  ASSERT_GT(got.size(), 3U);
  EXPECT_EQ(got.back(), "record 1");
  EXPECT_TRUE(is_error(got[got.size() - 3], "cut off")) << got[got.size() - 3];
}

}  // namespace
}  // namespace penstock::formats::tfrecord

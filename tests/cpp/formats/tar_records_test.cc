// Tar shards with an index: random access, and the rules of sidecars.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "../storage/temp_folder.h"
#include "formats/sidecar.h"
#include "tars.h"

namespace penstock::formats {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Records> open_ok(const std::vector<std::string>& names,
                                       const OpenOptions& options = {}) {
  Result<std::shared_ptr<const Records>> records = open_records(names, options);
  EXPECT_TRUE(records.ok()) << (records.ok() ? "" : records.error().to_string());
  return records.ok() ? *records : nullptr;
}

Error open_error(const std::vector<std::string>& names, const OpenOptions& options = {}) {
  const Result<std::shared_ptr<const Records>> records = open_records(names, options);
  EXPECT_FALSE(records.ok());
  return records.ok() ? Error(Code::internal, "opened") : records.error();
}

OpenOptions with_checksums() {
  OpenOptions options;
  options.checksums = true;
  return options;
}

void set_mtime(const std::string& path, int seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(TarRecords, any_record_of_any_shard_in_any_order) {
  const TempFolder folder;
  for (int s = 0; s < 3; ++s) {
    Tar tar;
    for (int i = 0; i < 10 + s; ++i) {
      tar.member(key_of(i) + ".jpg", std::string(std::size_t(i) * 300, char('a' + s)));
      tar.member(key_of(i) + ".cls", std::to_string(100 * s + i));
    }
    folder.write("t-00" + std::to_string(s) + ".tar", tar.end().bytes());
  }
  const auto records = open_ok({folder / "t-{000..002}.tar"});
  ASSERT_EQ(records->size(), 33U);
  EXPECT_EQ(records->fields(), (std::vector<std::string>{"__key__", "jpg", "cls"}));
  BufferPool pool;
  Record record;
  for (const std::uint64_t i : {32U, 0U, 10U, 9U, 21U, 20U, 5U}) {
    ASSERT_TRUE(records->read(i, pool, record).ok());
    const int s = i < 10 ? 0 : i < 21 ? 1 : 2;
    const int local = int(i) - (s == 0 ? 0 : s == 1 ? 10 : 21);
    EXPECT_EQ(fields_of(record),
              (Fields{{"__key__", key_of(local)},
                      {"jpg", std::string(std::size_t(local) * 300, char('a' + s))},
                      {"cls", std::to_string(100 * s + local)}}));
    EXPECT_EQ(records->name(i), folder / "t-00" + std::to_string(s) + ".tar:" + key_of(local));
  }
  EXPECT_EQ(records->read(33, pool, record).error().code(), Code::out_of_range);
}

TEST(TarRecords, the_stream_and_the_index_give_the_same_also_of_damaged_tars) {
  const TempFolder folder;
  std::mt19937 random(5);
  const std::string sound = shard(8).end().bytes();
  for (int round = 0; round < 300; ++round) {
    std::string bytes = sound;
    const int wounds = int(random() % 4);
    for (int w = 0; w < wounds; ++w) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = char(bytes[at] ^ (1 << random() % 8));
          break;
        case 1:
          std::memset(bytes.data() + at, int(random()),
                      std::min<std::size_t>(600, bytes.size() - at));
          break;
        default:
          if (w == 0) bytes.resize(at + 1);
      }
    }
    const std::string path = folder.write("x.tar", bytes);
    OpenOptions options;
    options.write_index = false;
    options.checksums = round % 2 == 0;
    const Outcome streamed = stream(bytes);
    const auto records = open_records({path}, options);
    if (!records.ok()) {
      EXPECT_EQ(records.error().code(), Code::corrupt);
      EXPECT_TRUE(streamed.samples.empty());
      continue;
    }
    const Outcome indexed = read_all(**records);
    // Only the index notices keys that come again far apart; wounds in names can make such.
    if (indexed.findings.duplicates > 0) continue;
    EXPECT_EQ(indexed.samples, streamed.samples) << round;
    EXPECT_EQ(indexed.order, streamed.order) << round;
    EXPECT_EQ(indexed.findings.damaged, streamed.findings.damaged) << round;
  }
}

TEST(TarRecords, many_at_once_equal_one_by_one) {
  const TempFolder folder;
  const std::string a = folder.write("a.tar", shard(50, 900).end().bytes());
  Tar tar = shard(50, 40000);
  tar.member("odd.jpg", "x").member("big", std::string(100000, 'b')).member("odd.cls", "y").end();
  const std::string b = folder.write("b.tar", tar.bytes());
  const auto records = open_ok({a, b});
  ASSERT_EQ(records->size(), 101U);
  BufferPool pool;
  std::mt19937 random(3);
  for (const std::size_t count : {1U, 7U, 300U}) {
    std::vector<std::uint64_t> indices(count);
    for (std::uint64_t& index : indices) index = random() % 102;  // 101 is one too many
    std::vector<Record> many(count);
    std::vector<Status> outcomes(count);
    records->read_many(indices, pool, many, outcomes);
    for (std::size_t i = 0; i < count; ++i) {
      Record one;
      const Status status = records->read(indices[i], pool, one);
      ASSERT_EQ(status.ok(), outcomes[i].ok());
      EXPECT_EQ(fields_of(one), fields_of(many[i]));
    }
  }
}

TEST(TarRecords, parts_far_from_one_another_do_not_cost_what_is_between) {
  const TempFolder folder;
  Tar tar;
  tar.member("a.jpg", "x").member("big", std::string(1 << 20, 'b')).member("a.cls", "y").end();
  const auto records = open_ok({folder.write("a.tar", tar.bytes())});
  EXPECT_LT(records->bytes(0), 1000U);
  EXPECT_EQ(read_all(*records).samples[0], (Fields{{"__key__", "a"}, {"jpg", "x"}, {"cls", "y"}}));
}

TEST(TarRecords, only_the_fields_asked_for) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3, 9000).end().bytes());
  OpenOptions options;
  options.fields = {"cls"};
  const auto records = open_ok({path}, options);
  EXPECT_EQ(records->fields(), (std::vector<std::string>{"__key__", "cls"}));
  EXPECT_EQ(records->bytes(1), 1U + 6);
  EXPECT_EQ(read_all(*records).samples[1], (Fields{{"__key__", "000001"}, {"cls", "1"}}));
  EXPECT_EQ(records->mean_bytes(), open_ok({path})->mean_bytes());

  options.fields = {"png"};
  const Error error = open_error({path}, options);
  EXPECT_EQ(error.code(), Code::no_field);
  EXPECT_NE(error.message().find("jpg"), std::string::npos) << "says what there is";
}

TEST(TarRecords, a_key_that_comes_again_makes_a_bad_record) {
  const TempFolder folder;
  Tar tar;
  tar.member("a.jpg", "1").member("b.jpg", "2").member("a.jpg", "3").member("c.jpg", "4").end();
  const Outcome all = read_all(*open_ok({folder.write("a.tar", tar.bytes())}));
  EXPECT_EQ(all.order, (std::vector<int>{0, 0, 1, 0}));
  EXPECT_EQ(all.errors[0].where().sample, "a");
  EXPECT_EQ(all.errors[0].where().offset, 2 * 1024 + 512);
  EXPECT_EQ(all.findings.duplicates, 1U);
}

TEST(TarRecords, a_member_beyond_the_limit_names_shard_key_and_offset) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3, 5000).end().bytes());
  OpenOptions options;
  options.max_member = 4999;
  const Outcome all = read_all(*open_ok({path}, options));
  ASSERT_EQ(all.errors.size(), 3U);
  EXPECT_EQ(all.errors[1].code(), Code::out_of_range);
  EXPECT_EQ(all.errors[1].where().file, path);
  EXPECT_EQ(all.errors[1].where().sample, "000001");
  EXPECT_EQ(all.errors[1].where().offset, 512 + 5120 + 1024 + 512);
}

TEST(TarRecords, a_flipped_payload_byte_is_noticed_where_there_are_hashes) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(5).end().bytes());
  set_mtime(path, 1000);
  open_ok({path}, with_checksums());
  std::string bytes = shard(5).end().bytes();
  bytes[2560 + 512 + 99] ^= 1;
  folder.write("a.tar", bytes);
  set_mtime(path, 2000);
  const Outcome all = read_all(*open_ok({path}));  // the sidecar is kept: it has hashes
  EXPECT_EQ(all.order, (std::vector<int>{0, 1, 0, 0, 0}));
  EXPECT_EQ(all.errors[0].code(), Code::corrupt);
  EXPECT_EQ(all.errors[0].where().offset, 2560 + 512);
  EXPECT_NE(all.errors[0].message().find("jpg"), std::string::npos);
}

TEST(TarRecords, a_shard_that_shrinks_while_open_is_an_io_error) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(5).end().bytes());
  const auto records = open_ok({path});
  BufferPool pool;
  Record record;
  ASSERT_TRUE(records->read(0, pool, record).ok());
  ASSERT_EQ(::truncate(path.c_str(), 3000), 0);
  EXPECT_EQ(records->read(4, pool, record).error().code(), Code::io);
  EXPECT_TRUE(record.fields.empty());
  EXPECT_TRUE(records->read(0, pool, record).ok()) << "what is there can be read";
}

TEST(TarRecords, a_spent_pool_is_an_error_and_costs_nothing) {
  const TempFolder folder;
  const auto records = open_ok({folder.write("a.tar", shard(3, 60000).end().bytes())});
  BufferPool pool(1000);
  Record record;
  EXPECT_EQ(records->read(0, pool, record).error().code(), Code::out_of_memory);
  EXPECT_EQ(pool.stats().in_use, 0U);
}

TEST(TarRecords, what_cannot_be_opened_is_named) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  EXPECT_EQ(open_error({path, folder / "none.tar"}).code(), Code::not_found);
  EXPECT_EQ(open_error({path, folder / "none.tar"}).where().file, folder / "none.tar");
  EXPECT_EQ(open_error({folder.write("empty.tar", "")}).code(), Code::corrupt);
  EXPECT_EQ(open_error({folder.write("noise.tar", std::string(4000, 'x'))}).code(), Code::corrupt);
  EXPECT_EQ(open_error({folder.write("x.bin", "")}).code(), Code::unsupported);
  EXPECT_EQ(open_error({"s3://bucket/a.tar"}).code(), Code::unsupported);
  EXPECT_EQ(open_error({}).code(), Code::invalid_argument);
  EXPECT_EQ(open_error({path, folder.write("a.jpg", "x")}).code(), Code::invalid_argument);
  const Error packed = open_error({folder.write("a.tar.gz", "\x1f\x8b\x08 and so on")});
  EXPECT_EQ(packed.code(), Code::unsupported);
  EXPECT_NE(packed.message().find("unpack"), std::string::npos);
}

TEST(TarRecords, the_digest_is_of_names_and_keys_not_of_places_and_times) {
  const TempFolder folder;
  const auto digest = [](const std::vector<std::string>& names) {
    return open_ok(names)->digest();
  };
  const std::string a = folder.write("one/a.tar", shard(3).end().bytes());
  const std::string b = folder.write("one/b.tar", shard(4).end().bytes());
  const std::uint64_t here = digest({a, b});
  const std::string a2 = folder.write("two/deep/a.tar", shard(3, 50).end().bytes());
  const std::string b2 = folder.write("two/deep/b.tar", shard(4).end().bytes());
  EXPECT_EQ(digest({a2, b2}), here);
  EXPECT_NE(digest({b, a}), here);
  EXPECT_NE(digest({a, folder.write("one/c.tar", shard(4).end().bytes())}), here);
  EXPECT_NE(digest({a, folder.write("three/b.tar", shard(5).end().bytes())}), here);
}

// ---- sidecars

TEST(Sidecar, is_written_beside_the_shard_and_used_from_then_on) {
  const TempFolder folder;
  std::string bytes = shard(3).end().bytes();
  const std::string path = folder.write("a.tar", bytes);
  open_ok({path});
  ASSERT_TRUE(fs::exists(path + ".psidx"));
  const auto written = fs::last_write_time(path + ".psidx");
  // Same size and time, the first header damaged: only somebody who makes an index would notice.
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  folder.write("a.tar", bytes.replace(0, 512, 512, 'x'));
  const timespec times[2] = {info.st_mtim, info.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(open_ok({path})->size(), 3U);
  EXPECT_EQ(open_ok({path})->findings().damaged, 0U);
  EXPECT_EQ(fs::last_write_time(path + ".psidx"), written);
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_FALSE(entry.path().string().ends_with(".tmp"));
  }
}

TEST(Sidecar, another_size_is_an_error_that_names_the_cure) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  open_ok({path}, with_checksums());
  folder.write("a.tar", shard(4).end().bytes());
  const Error error = open_error({path});
  EXPECT_EQ(error.code(), Code::corrupt);
  EXPECT_NE(error.message().find("penstock index --refresh"), std::string::npos);
  EXPECT_EQ(error.where().file, path);
  OpenOptions options;
  options.refresh = true;
  EXPECT_EQ(open_ok({path}, options)->size(), 4U);
  EXPECT_EQ(open_ok({path})->size(), 4U);
}

TEST(Sidecar, another_time_is_an_error_unless_there_are_hashes) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  set_mtime(path, 1000);
  open_ok({path});
  set_mtime(path, 2000);
  EXPECT_EQ(open_error({path}).code(), Code::corrupt);
  EXPECT_EQ(open_error({path}, with_checksums()).code(), Code::corrupt) << "never silently";

  set_mtime(path, 1000);
  open_ok({path}, with_checksums());
  set_mtime(path, 2000);
  EXPECT_EQ(open_ok({path})->size(), 3U);
}

TEST(Sidecar, hashes_are_added_when_they_are_asked_for) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  open_ok({path});
  EXPECT_FALSE(load_sidecar(path + ".psidx")->has_hashes());
  open_ok({path}, with_checksums());
  EXPECT_TRUE(load_sidecar(path + ".psidx")->has_hashes());
  open_ok({path});
  EXPECT_TRUE(load_sidecar(path + ".psidx")->has_hashes());
}

TEST(Sidecar, a_damaged_or_foreign_one_is_an_error) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  for (const std::string& bytes :
       {std::string(), std::string("PSINDEX\n"), std::string(9999, 'x')}) {
    folder.write("a.tar.psidx", bytes);
    const Error error = open_error({path});
    EXPECT_EQ(error.code(), Code::corrupt);
    EXPECT_EQ(error.where().file, path + ".psidx");
    EXPECT_NE(error.message().find("--refresh"), std::string::npos);
  }
  const std::string other = folder.write("b.tar", shard(5).end().bytes());
  open_ok({other});
  fs::copy_file(other + ".psidx", path + ".psidx", fs::copy_options::overwrite_existing);
  EXPECT_EQ(open_error({path}).code(), Code::corrupt);
}

TEST(Sidecar, in_the_cache_folder_is_found) {
  const TempFolder folder;
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1), 0);
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  const std::string beside = sidecar_beside(path);
  const std::string cached = sidecar_in_cache(path);
  EXPECT_TRUE(cached.starts_with(folder / "cache/penstock/index/")) << cached;
  EXPECT_TRUE(cached.ends_with("-a.tar.psidx")) << cached;
  fs::create_directories(fs::path(cached).parent_path());
  open_ok({path});
  fs::rename(beside, cached);
  const auto written = fs::last_write_time(cached);
  EXPECT_EQ(open_ok({path})->size(), 3U);
  EXPECT_FALSE(fs::exists(beside)) << "the one in the cache was found";
  EXPECT_EQ(fs::last_write_time(cached), written);
  ::unsetenv("XDG_CACHE_HOME");
}

TEST(Sidecar, of_a_read_only_folder_is_kept_in_the_cache) {
  const std::string root = "/proc/self/fd";  // nobody can write there, not even root
  const TempFolder folder;
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1), 0);
  const std::string real = folder.write("real.tar", shard(3).end().bytes());
  const int descriptor = ::open(real.c_str(), O_RDONLY);
  ASSERT_GE(descriptor, 0);
  const std::string path = root + "/" + std::to_string(descriptor);
  OpenOptions options;
  options.format = Format::tar;
  EXPECT_EQ(open_ok({path}, options)->size(), 3U);
  EXPECT_TRUE(fs::exists(sidecar_in_cache(path)));
  EXPECT_EQ(open_ok({path}, options)->size(), 3U);
  ::setenv("XDG_CACHE_HOME", root.c_str(), 1);  // nor there: it stays in memory
  EXPECT_EQ(open_ok({path}, options)->size(), 3U);
  ::close(descriptor);
  ::unsetenv("XDG_CACHE_HOME");
}

TEST(Sidecar, stays_in_memory_on_request) {
  const TempFolder folder;
  const std::string path = folder.write("a.tar", shard(3).end().bytes());
  OpenOptions options;
  options.write_index = false;
  EXPECT_EQ(open_ok({path}, options)->size(), 3U);
  EXPECT_FALSE(fs::exists(path + ".psidx"));
}

}  // namespace
}  // namespace penstock::formats

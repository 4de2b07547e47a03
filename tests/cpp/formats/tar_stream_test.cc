// Tars read from front to back: what is understood, and what damage costs.
#include <gtest/gtest.h>

#include "../storage/temp_folder.h"
#include "storage/stream.h"
#include "tars.h"

namespace penstock::formats {
namespace {

using Keys = std::vector<std::string>;

TEST(TarStream, groups_neighbours_by_key) {
  Tar tar;
  tar.member("a/0001.jpg", "one")
      .member("a/0001.seg.PNG", "two")
      .member("b/0001.jpg", "three")
      .end();
  const Outcome all = stream(tar.bytes());
  ASSERT_EQ(all.samples.size(), 2U);
  EXPECT_EQ(all.samples[0], (Fields{{"__key__", "a/0001"}, {"jpg", "one"}, {"seg.png", "two"}}));
  EXPECT_EQ(all.samples[1], (Fields{{"__key__", "b/0001"}, {"jpg", "three"}}));
  EXPECT_TRUE(all.errors.empty());
}

TEST(TarStream, long_names_of_gnu_and_pax) {
  const std::string key = std::string(90, 'd') + "/" + std::string(90, 'k');
  Tar tar;
  tar.gnu_long_name(key + ".jpg").member((key + ".jpg").substr(0, 100), "gnu");
  tar.pax({{"mtime", "1.5"}, {"path", key + ".cls"}}).member("short", "pax").end();
  const Outcome all = stream(tar.bytes());
  ASSERT_EQ(all.samples.size(), 1U);
  EXPECT_EQ(all.samples[0], (Fields{{"__key__", key}, {"jpg", "gnu"}, {"cls", "pax"}}));
}

TEST(TarStream, the_size_in_pax_records_wins) {
  Tar tar;
  tar.pax({{"size", "600"}}).raw(Tar::header("a.bin", 0)).raw(std::string(600, 'x'));
  tar.member("b.bin", "y").end();
  const Outcome all = stream(tar.bytes());
  ASSERT_EQ(all.samples.size(), 2U);
  EXPECT_EQ(all.samples[0].at("bin"), std::string(600, 'x'));
}

TEST(TarStream, passes_over_what_is_not_a_file_and_counts_it) {
  Tar tar;
  tar.member("dir/", "", '5').member("0.jpg", "a").member("link.jpg", "", '2').member("0.cls", "b");
  tar.member("README", "no dot").member("._0.jpg", "hidden").member("x.sparse", "12345", 'S');
  tar.pax({{"GNU.sparse.major", "1"}}).member("y.bin", "map").member("0.txt", "c").end();
  const Outcome all = stream(tar.bytes());
  ASSERT_EQ(all.samples.size(), 1U) << "they do not part a sample";
  EXPECT_EQ(all.samples[0], (Fields{{"__key__", "0"}, {"jpg", "a"}, {"cls", "b"}, {"txt", "c"}}));
  EXPECT_EQ(all.findings.not_files, 2U);
  EXPECT_EQ(all.findings.unnamed, 2U);
  EXPECT_EQ(all.findings.sparse, 2U);
  EXPECT_EQ(all.findings.damaged, 0U);
}

TEST(TarStream, extended_sparse_headers_are_passed_over) {
  std::string header = Tar::header("x.bin", 700, 'S');
  header[482] = 1;
  std::string more(512, 'm'), last(512, 'l');
  more[504] = 1;
  last[504] = 0;
  Tar tar;
  tar.raw(Tar::with_checksum(header)).raw(more).raw(last).raw(std::string(700, 'x'));
  tar.member("a.jpg", "a").end();
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), Keys{"a"});
  EXPECT_EQ(all.findings.sparse, 1U);
  EXPECT_EQ(all.findings.damaged, 0U);
}

TEST(TarStream, large_members_between_the_parts_of_a_sample_are_not_kept) {
  Tar tar;
  tar.member("a.jpg", "one").member("big", std::string(5 << 20, 'b')).member("a.cls", "two");
  tar.member("b.jpg", "three").end();
  BufferPool pool;
  const auto reader = tar::stream_memory(std::as_bytes(std::span(tar.bytes())), pool, {});
  const Outcome all = drain(*reader);
  ASSERT_EQ(all.samples.size(), 2U);
  EXPECT_EQ(all.samples[0], (Fields{{"__key__", "a"}, {"jpg", "one"}, {"cls", "two"}}));
  EXPECT_LT(pool.stats().peak, std::size_t(3) << 20);
}

TEST(TarStream, samples_of_any_size_cross_blocks) {
  Tar tar;
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) {
    sent.push_back(std::string(std::size_t(i) * 977 % 60000, char('a' + i % 26)));
    tar.member(key_of(i) + ".bin", sent.back()).member(key_of(i) + ".txt", key_of(i));
  }
  sent.push_back(std::string(3 << 20, 'z'));
  tar.member("large.bin", sent.back()).end();
  const Outcome all = stream(tar.bytes());
  ASSERT_EQ(all.samples.size(), 301U);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(all.samples[i].at("bin"), sent[i]) << i;
}

TEST(TarStream, large_members_are_read_into_memory_of_the_callers_own) {
  Tar tar;
  tar.member("a.jpg", std::string(100'000, 'j')).member("a.cls", "1");
  tar.member("b.cls", "2").member("b.jpg", std::string(70'000, 'k')).end();
  std::vector<std::byte*> given;
  OpenOptions options;
  options.large_members = [&](std::size_t size) {
    Result<Buffer> made = Buffer::allocate(size);
    given.push_back(made->data());
    return made;
  };
  BufferPool pool;
  const auto reader = tar::stream_memory(std::as_bytes(std::span(tar.bytes())), pool, options);
  std::vector<Record> held(2);
  for (Record& record : held) ASSERT_TRUE(*reader->next(record));
  ASSERT_EQ(given.size(), 2U);
  EXPECT_EQ(held[0].find("jpg")->bytes.data(), given[0]);
  EXPECT_EQ(held[1].find("jpg")->bytes.data(), given[1]);
  EXPECT_EQ(fields_of(held[0]),
            (Fields{{"__key__", "a"}, {"jpg", std::string(100'000, 'j')}, {"cls", "1"}}));
  EXPECT_EQ(fields_of(held[1]),
            (Fields{{"__key__", "b"}, {"cls", "2"}, {"jpg", std::string(70'000, 'k')}}));
}

TEST(TarStream, a_tar_cut_inside_a_large_member_loses_that_sample_only) {
  Tar tar;
  tar.member("a.jpg", std::string(100'000, 'j')).member("b.jpg", std::string(100'000, 'k'));
  tar.bytes().resize(tar.size() - 50'000);
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), Keys{"a"});
  EXPECT_EQ(all.errors.size(), 1U);
}

TEST(TarStream, records_stay_as_they_were_while_they_are_held) {
  Tar tar = shard(2000, 900);
  tar.end();
  BufferPool pool;
  const auto reader = tar::stream_memory(std::as_bytes(std::span(tar.bytes())), pool, {});
  std::vector<Record> held;
  Record record;
  while (*reader->next(record)) held.push_back(std::move(record));
  ASSERT_EQ(held.size(), 2000U);
  for (int i = 0; i < 2000; ++i) {
    const Fields fields = fields_of(held[std::size_t(i)]);
    EXPECT_EQ(fields, (Fields{{"__key__", key_of(i)},
                              {"jpg", std::string(900, char('a' + i % 26))},
                              {"cls", std::to_string(i)}}));
    EXPECT_EQ(held[std::size_t(i)].key, key_of(i));
  }
}

TEST(TarStream, only_the_fields_asked_for) {
  OpenOptions options;
  options.fields = {"cls"};
  const Outcome all = stream(shard(3).end().bytes(), options);
  ASSERT_EQ(all.samples.size(), 3U);
  EXPECT_EQ(all.samples[1], (Fields{{"__key__", "000001"}, {"cls", "1"}}));
}

TEST(TarStream, tars_may_follow_one_another_in_one_file) {
  Tar tar = shard(2);
  tar.end().member("x.jpg", "x").end().raw(std::string(8192, '\0'));
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), (Keys{"000000", "000001", "x"}));
  EXPECT_TRUE(all.errors.empty());
}

TEST(TarStream, garbage_behind_the_end_mark_is_not_ours) {
  Tar tar = shard(2);
  tar.end().raw(std::string(3000, 'g'));
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.samples.size(), 2U);
  EXPECT_TRUE(all.errors.empty());
}

TEST(TarStream, a_tar_without_end_mark_is_read_and_counted) {
  const Outcome all = stream(shard(3).bytes());
  EXPECT_EQ(all.samples.size(), 3U);
  EXPECT_TRUE(all.errors.empty());
  EXPECT_EQ(all.findings.without_end, 1U);
  EXPECT_EQ(stream(shard(3).end().bytes()).findings.without_end, 0U);
}

TEST(TarStream, the_same_field_twice_makes_a_bad_sample) {
  Tar tar;
  tar.member("a.jpg", "1").member("a.cls", "1").member("a.jpg", "2").member("a.cls", "2");
  tar.member("b.jpg", "3").end();
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), (Keys{"a", "b"}));
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.errors[0].where().sample, "a");
  EXPECT_NE(all.errors[0].message().find("same key"), std::string::npos);
}

TEST(TarStream, a_member_beyond_the_limit_costs_its_sample_only) {
  Tar tar;
  tar.member("a.jpg", "1").member("b.jpg", std::string(5000, 'b')).member("b.cls", "2");
  tar.member("c.jpg", "3").end();
  OpenOptions options;
  options.max_member = 4999;
  const Outcome all = stream(tar.bytes(), options);
  EXPECT_EQ(all.keys(), (Keys{"a", "c"}));
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.errors[0].code(), Code::out_of_range);
  EXPECT_EQ(all.errors[0].where().sample, "b");
  EXPECT_EQ(all.errors[0].where().offset, 1024 + 512);
  EXPECT_NE(all.errors[0].message().find("field jpg has 5000 bytes"), std::string::npos);
  EXPECT_NE(all.errors[0].message().find("max_member, which is 4999"), std::string::npos);
}

TEST(TarStream, what_is_not_a_tar_is_an_error) {
  EXPECT_EQ(stream(std::string(5000, 'x')).errors.size(), 1U);
  EXPECT_EQ(stream("").errors.size(), 1U);
  EXPECT_EQ(stream("short").errors.size(), 1U);
  EXPECT_TRUE(stream(std::string(1024, '\0')).errors.empty()) << "an empty tar is fine";
}

// ---- damage

// Ten samples; whatever happens to one place, nine are left and one error names the place.
void expect_one_lost(const std::string& bytes, int lost, std::uint64_t offset,
                     const std::string& what) {
  const Outcome all = stream(bytes);
  EXPECT_EQ(all.errors.size(), 1U) << what;
  EXPECT_EQ(all.samples.size(), 9U) << what;
  for (const Fields& sample : all.samples) {
    EXPECT_EQ(sample.size(), 3U) << what;
    EXPECT_NE(sample.at("__key__"), key_of(lost)) << what;
  }
  if (all.errors.size() == 1) {
    EXPECT_EQ(all.errors[0].code(), Code::corrupt) << what;
    EXPECT_EQ(all.errors[0].where().offset, std::int64_t(offset)) << what;
    EXPECT_EQ(all.order[std::size_t(lost)], 1) << what << ": the error has the sample's place";
  }
  EXPECT_EQ(all.findings.damaged, 1U) << what;
}

TEST(TarDamage, any_flipped_bit_of_a_header_costs_its_sample_only) {
  const std::string sound = shard(10).end().bytes();
  const std::size_t sample = 512 + 1024 + 512 + 512;  // jpg of 700 bytes, cls of one
  for (const int lost : {0, 1, 5, 9}) {
    for (const std::size_t header : {std::size_t(0), std::size_t(1536)}) {
      const std::size_t offset = std::size_t(lost) * sample + header;
      for (std::size_t byte = 0; byte < 512; byte += byte < 160 ? 1 : 17) {
        std::string bytes = sound;
        bytes[offset + byte] = char(bytes[offset + byte] ^ 0x04);
        expect_one_lost(bytes, lost, offset,
                        "sample " + std::to_string(lost) + ", header at " + std::to_string(header) +
                            ", byte " + std::to_string(byte));
      }
    }
  }
}

// Any two or three headers: no sample that lost one is delivered, and all others are.
TEST(TarDamage, several_damaged_headers_cost_their_samples_only) {
  constexpr int kSamples = 5;
  const std::string sound = shard(kSamples).end().bytes();
  const Outcome whole = stream(sound);
  const auto header = [](int number) { return std::size_t(number / 2 * 2560 + number % 2 * 1536); };
  for (int set = 1; set < 1 << (2 * kSamples); ++set) {
    if (__builtin_popcount(unsigned(set)) > 4) continue;
    for (const bool noise : {false, true}) {  // without it names and magic are still there
      std::string bytes = sound;
      std::vector<Fields> left;
      for (int i = 0; i < kSamples; ++i) {
        if ((set >> (2 * i) & 3) == 0) left.push_back(whole.samples[std::size_t(i)]);
      }
      for (int number = 0; number < 2 * kSamples; ++number) {
        if ((set >> number & 1) == 0) continue;
        char* at = bytes.data() + header(number);
        noise ? std::memset(at, 'n', 512) : std::memset(at + 140, 'n', 1);
      }
      const Outcome all = stream(bytes);
      ASSERT_EQ(all.samples, left) << set << " " << noise;
      ASSERT_FALSE(all.errors.empty()) << set << " " << noise;
      if (noise) continue;
      // Of a sample whose name can be read an error is left in its place.
      ASSERT_EQ(all.order.size(), std::size_t(kSamples)) << set;
    }
  }
}

TEST(TarDamage, the_only_sample_of_a_tar_that_was_cut_is_not_sound) {
  const std::string sound = shard(1).end().bytes();
  for (std::size_t size = 600; size < 2560; ++size) {
    if (size == 1536) continue;  // between two members: it might have been written so
    const Outcome all = stream(sound.substr(0, size));
    EXPECT_TRUE(all.samples.empty() || all.samples[0].size() == 3U) << size;
    EXPECT_EQ(all.order.size(), 1U) << size;
  }
}

TEST(TarDamage, a_header_of_zeros_or_noise_costs_its_sample_only) {
  const std::string sound = shard(10).end().bytes();
  for (const int lost : {0, 4, 9}) {
    for (const std::size_t header : {std::size_t(0), std::size_t(1536)}) {
      const std::size_t offset = std::size_t(lost) * 2560 + header;
      for (const char fill : {'\0', 'z', '\xff'}) {
        std::string bytes = sound;
        std::memset(bytes.data() + offset, fill, 512);
        expect_one_lost(bytes, lost, offset, std::to_string(offset) + " filled");
      }
    }
  }
}

TEST(TarDamage, a_shard_of_single_fields_keeps_the_place_of_a_lost_sample) {
  Tar tar;
  for (int i = 0; i < 5; ++i) tar.member(key_of(i) + ".bin", "x");
  tar.end();
  std::memset(tar.bytes().data() + 2 * 1024, 'n', 512);
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.order, (std::vector<int>{0, 0, 1, 0, 0}));
  EXPECT_EQ(all.keys(), (Keys{key_of(0), key_of(1), key_of(3), key_of(4)}));
}

TEST(TarDamage, a_tar_inside_a_damaged_member_is_not_taken_apart) {
  Tar tar;
  tar.member("a.bin", "1").member("b.tar", shard(3).end().bytes()).member("c.bin", "3").end();
  tar.bytes()[1024 + 1] = 'X';  // the name of b.tar; its size is sound
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), (Keys{"a", "c"}));
  EXPECT_EQ(all.errors.size(), 1U);
}

TEST(TarDamage, a_lost_long_name_costs_the_member_it_names) {
  const std::string key(150, 'k');
  Tar tar = shard(3);
  const std::size_t at = tar.size();
  tar.gnu_long_name(key + ".jpg").member((key + ".jpg").substr(0, 100), "gnu");
  tar.gnu_long_name(key + ".cls").member((key + ".cls").substr(0, 100), "7");
  tar.member("z.jpg", "z").member("z.cls", "8").end();
  tar.bytes()[at + 10] = '!';
  const Outcome all = stream(tar.bytes());
  EXPECT_EQ(all.keys(), (Keys{key_of(0), key_of(1), key_of(2), "z"}));
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.order, (std::vector<int>{0, 0, 0, 1, 0}));
}

TEST(TarDamage, pax_records_that_cannot_be_read_cost_their_member) {
  Tar tar = shard(2);
  tar.member("PaxHeaders/x", "nonsense", 'x').member("000002.jpg", "x").member("000002.cls", "2");
  tar.member("000003.jpg", "x").member("000003.cls", "3").end();
  const Outcome all = stream(tar.bytes());
  EXPECT_GE(all.errors.size(), 1U);
  EXPECT_EQ(all.samples.back().at("__key__"), "000003");
}

TEST(TarDamage, cut_anywhere_it_never_invents_and_names_the_place) {
  const std::string sound = shard(4).end().bytes();
  const Outcome whole = stream(sound);
  for (std::size_t size = 0; size < sound.size(); size += size % 512 < 3 ? 1 : 101) {
    const Outcome cut = stream(sound.substr(0, size));
    ASSERT_LE(cut.samples.size(), 4U);
    for (std::size_t i = 0; i < cut.samples.size(); ++i) {
      const bool last = i + 1 == cut.samples.size();
      if (last && cut.samples[i].size() == 2) continue;  // cut between two members of it
      EXPECT_EQ(cut.samples[i], whole.samples[i]) << size;
    }
    if (size < 4 * 2560 && size % 512 != 0) {
      EXPECT_FALSE(cut.errors.empty()) << "cut at " << size;
    }
    if (size < 4 * 2560) {
      EXPECT_EQ(cut.findings.cut + cut.findings.without_end + (size == 0 ? 1 : 0), 1U) << size;
    }
  }
}

TEST(TarDamage, a_size_of_billions_ends_the_tar_but_not_the_memory) {
  Tar tar = shard(2);
  tar.raw(Tar::header("x.jpg", std::size_t(1) << 32)).raw("x").member("y.jpg", "y").end();
  OpenOptions options;
  options.max_member = std::uint64_t(1) << 40;
  const Outcome all = stream(tar.bytes(), options);
  EXPECT_EQ(all.samples.size(), 2U);
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.errors[0].where().sample, "x");
  EXPECT_EQ(all.findings.cut, 1U);
}

// ---- files

TEST(TarStream, several_shards_and_a_missing_one) {
  const TempFolder folder;
  folder.write("0.tar", shard(2).end().bytes());
  folder.write("2.tar", shard(3).end().bytes());
  BufferPool pool;
  const auto reader = open_stream({folder / "{0..2}.tar"}, pool);
  ASSERT_TRUE(reader.ok());
  const Outcome all = drain(**reader);
  EXPECT_EQ(all.samples.size(), 5U);
  EXPECT_EQ(all.order, (std::vector<int>{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(all.errors[0].code(), Code::not_found);
  EXPECT_EQ(all.errors[0].where().file, folder / "1.tar");
}

TEST(TarStream, an_error_in_the_stream_comes_after_what_was_sound) {
  const TempFolder folder;
  const std::string sound = shard(2000, 900).end().bytes();
  const std::string path = folder.write("a.tar", sound);
  ASSERT_EQ(std::system(("gzip -k '" + path + "'").c_str()), 0);
  std::string packed;
  {
    std::ifstream file(path + ".gz", std::ios::binary);
    packed.assign(std::istreambuf_iterator<char>(file), {});
  }
  BufferPool pool;
  const auto good = open_stream({path + ".gz"}, pool);
  EXPECT_EQ(drain(**good).samples.size(), 2000U);

  folder.write("cut.tar.gz", packed.substr(0, packed.size() / 2));
  folder.write("next.tgz", packed);
  const auto cut = open_stream({folder / "cut.tar.gz", folder / "next.tgz"}, pool);
  const Outcome all = drain(**cut);
  ASSERT_EQ(all.errors.size(), 1U);
  EXPECT_EQ(all.errors[0].where().file, folder / "cut.tar.gz");
  EXPECT_GT(all.samples.size(), 2500U);
  EXPECT_EQ(all.samples.back().at("__key__"), key_of(1999));
}

}  // namespace
}  // namespace penstock::formats

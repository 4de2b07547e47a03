#include "formats/folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "../storage/temp_folder.h"
#include "tars.h"

namespace penstock::formats {
namespace {

std::shared_ptr<const Records> open_ok(const std::vector<std::string>& names,
                                       const OpenOptions& options = {}) {
  Result<std::shared_ptr<const Records>> records = open_records(names, options);
  EXPECT_TRUE(records.ok()) << (records.ok() ? "" : records.error().to_string());
  return records.ok() ? *records : nullptr;
}

TEST(Folder, a_class_per_sub_folder_in_byte_order) {
  const TempFolder folder;
  folder.write("cats/2.jpg", "c2");
  folder.write("cats/10.JPEG", "c10");
  folder.write("cats/deep/1.png", "c1");
  folder.write("Zebra/z.webp", "z");
  folder.write("cats-and-dogs/x.gif", "x");
  folder.write("cats/notes.txt", "no image");
  folder.write("cats/.hidden.jpg", "hidden");
  folder.write("top.jpg", "of no class");
  std::filesystem::create_directory(folder / "empty");
  const auto records = open_ok({folder.path()});
  const Outcome all = read_all(*records);
  EXPECT_EQ(records->fields(), (std::vector<std::string>{"image", "label", "path"}));
  const auto sample = [&](const char* image, const char* label, const char* name) {
    return Fields{{"image", image}, {"label", label}, {"path", folder / name}};
  };
  EXPECT_EQ(all.samples, (std::vector<Fields>{
                             sample("z", "0", "Zebra/z.webp"), sample("c10", "1", "cats/10.JPEG"),
                             sample("c2", "1", "cats/2.jpg"), sample("c1", "1", "cats/deep/1.png"),
                             sample("x", "2", "cats-and-dogs/x.gif")}));
  EXPECT_EQ(all.findings.unnamed, 3U);
  EXPECT_EQ(records->name(1), folder / "cats/10.JPEG");
}

TEST(Folder, a_flat_one_has_no_labels) {
  const TempFolder folder;
  folder.write("b.jpg", "b");
  folder.write("a.png", "a");
  std::filesystem::create_directory(folder / "empty");
  const auto records = open_ok({folder.path() + "/"});
  EXPECT_EQ(records->fields(), (std::vector<std::string>{"image", "path"}));
  const Outcome all = read_all(*records);
  ASSERT_EQ(all.samples.size(), 2U);
  EXPECT_EQ(all.samples[0], (Fields{{"image", "a"}, {"path", folder / "a.png"}}));
}

TEST(Folder, the_digest_is_of_names_relative_to_the_root) {
  const TempFolder one, two;
  for (const TempFolder* folder : {&one, &two}) {
    folder->write("x/1.jpg", folder->path());
    folder->write("y/1.jpg", "");
  }
  const std::uint64_t digest = open_ok({one.path()})->digest();
  EXPECT_EQ(open_ok({two.path() + "/"})->digest(), digest);
  two.write("y/2.jpg", "");
  EXPECT_NE(open_ok({two.path()})->digest(), digest);
}

TEST(Folder, without_images_is_an_error) {
  const TempFolder folder;
  folder.write("x/notes.txt", "");
  const auto records = open_records({folder.path()});
  ASSERT_FALSE(records.ok());
  EXPECT_EQ(records.error().code(), Code::not_found);
}

TEST(Folder, a_link_to_a_folder_above_does_not_go_on_for_ever) {
  const TempFolder folder;
  folder.write("x/1.jpg", "");
  std::filesystem::create_directory_symlink(folder.path(), folder / "x/loop");
  EXPECT_EQ(open_records({folder.path()}).error().code(), Code::invalid_argument);
}

TEST(Files, come_in_the_order_given) {
  const TempFolder folder;
  const std::string b = folder.write("b.jpg", "b"), a = folder.write("a.jpg", "a");
  const auto records = open_ok({b, a});
  EXPECT_EQ(records->fields(), (std::vector<std::string>{"image", "path"}));
  EXPECT_EQ(read_all(*records).samples[0].at("path"), b);
  EXPECT_EQ(open_ok({folder / "*.jpg"})->name(0), a);
  EXPECT_EQ(open_records({a, folder / "none.jpg"}).error().where().file, folder / "none.jpg");
}

TEST(Files, that_change_or_vanish_are_errors_of_their_own_record) {
  const TempFolder folder;
  const std::string a = folder.write("a.jpg", "a"), b = folder.write("b.jpg", "b"),
                    c = folder.write("c.jpg", "c");
  const auto records = open_ok({a, b, c});
  folder.write("a.jpg", "another length");
  std::filesystem::remove(b);
  const Outcome all = read_all(*records);
  EXPECT_EQ(all.order, (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(all.errors[0].code(), Code::io);
  EXPECT_EQ(all.errors[1].code(), Code::not_found);
  EXPECT_EQ(all.errors[1].where().file, b);
}

TEST(Files, only_the_fields_asked_for_and_no_more_than_the_limit) {
  const TempFolder folder;
  const std::string a = folder.write("a.jpg", "12345");
  OpenOptions options;
  options.fields = {"path"};
  EXPECT_EQ(read_all(*open_ok({a}, options)).samples[0], (Fields{{"path", a}}));
  options.fields = {"label"};
  EXPECT_EQ(open_records({a}, options).error().code(), Code::no_field);
  options.fields = {};
  options.max_member = 4;
  EXPECT_EQ(read_all(*open_ok({a}, options)).errors[0].code(), Code::out_of_range);
}

}  // namespace
}  // namespace penstock::formats

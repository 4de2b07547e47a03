// A warm thread decodes without allocating anything of our own. What the codec libraries allocate
// for themselves goes through malloc and is not counted; all that we allocate goes through new.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "images.h"
#include "media/image/batch.h"
#include "media/image/crop_request.h"
#include "media/image/crop_resize.h"
#include "media/image/slot.h"

namespace {

thread_local std::int64_t allocations = 0;
std::atomic<std::int64_t> of_all_threads = 0;

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  of_all_threads.fetch_add(1, std::memory_order_relaxed);
  return std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
}
void* counted_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = counted(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// For the whole test program; they do what the usual ones do, and count. Not inlined: GCC would see
// `free` where it expects `delete`.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted_or_throw(size, kUsual);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, std::size_t(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, kUsual);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  return counted(size, std::size_t(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace penstock {
namespace {

// Every picture in the folder, by name.
std::vector<std::string> all_pictures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::image_folder())) {
    const std::string suffix = entry.path().extension();
    if (suffix != ".py" && suffix != ".txt" && suffix != ".md") {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Memory that is there already.
class Room final : public PixelTarget {
 public:
  Result<PixelMemory> place(const ImageShape& shape) override {
    return PixelMemory{bytes_.data(), std::ptrdiff_t(shape.row_bytes())};
  }

 private:
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(std::size_t{1} << 20);
};

// How many allocations a call makes once calls like it have been made.
template <class Call>
std::int64_t when_warm(const Call& call) {
  call();
  call();
  const std::int64_t before = allocations;
  call();
  return allocations - before;
}

TEST(Allocations, are_counted) {
  EXPECT_EQ(when_warm([] { EXPECT_NE(std::vector<char>(100).data(), nullptr); }), 1);
}

TEST(Allocations, a_warm_thread_decodes_whole_pictures_without_any) {
  Room room;
  for (const std::string& name : all_pictures()) {
    const auto file = test::image_file(name);
    for (const PixelMode mode : {PixelMode::rgb, PixelMode::rgba, PixelMode::l}) {
      DecodeOptions options = test::in_mode(mode);
      options.apply_orientation = true;
      bool fine = true;
      EXPECT_EQ(when_warm([&] { fine &= decode_image(file, options, room).ok(); }), 0) << name;
      EXPECT_TRUE(fine) << name;
    }
  }
}

TEST(Allocations, a_warm_thread_fills_slots_without_any) {
  FinishSpec finish;
  finish.height = 24, finish.width = 32;
  finish.layout = ImageLayout::chw, finish.type = DType::float32;
  std::vector<float> slot(4 * 24 * 32);
  media::CropRequest request;
  request.random = ResizedCropRange{};
  request.size = Size{24, 32};
  request.flip = 0.5;
  for (const std::string& name : all_pictures()) {
    const auto file = test::image_file(name);
    for (const PixelMode mode : {PixelMode::rgb, PixelMode::rgba, PixelMode::l}) {
      finish.channels = channels_of(mode);
      for (const bool exact : {true, false}) {
        request.exact = exact;
        bool fine = true;
        const auto all_crops = [&] {  // of many sizes: the tables of all of them have been made
          for (std::uint64_t position = 0; position < 8; ++position) {
            media::RequestPlanner planner(request, RandomStream(RandomKey(1, 0), position));
            fine &= media::decode_into_slot(media::as_bytes(file), test::in_mode(mode), planner,
                                            finish, slot.data())
                        .ok();
          }
        };
        EXPECT_EQ(when_warm(all_crops), 0) << name;
        EXPECT_TRUE(fine) << name;
      }
    }
  }
}

// Which helper decodes which picture is chance, so each of them has to see all kinds.
TEST(Allocations, warm_helpers_fill_batches_without_any) {
  FinishSpec finish;
  finish.height = 24, finish.width = 32;
  const auto file = test::image_file("420.jpg"), other = test::image_file("photo.png");
  std::vector<media::Bytes> files;
  for (int i = 0; i < 32; ++i) files.push_back(media::as_bytes(i % 2 == 0 ? file : other));
  std::vector<media::CropRequest> requests(files.size());
  for (auto& request : requests) request.size = Size{24, 32};
  std::vector<std::byte> slots(files.size() * finish.bytes());
  std::vector<Status> outcomes(files.size());
  const auto decode = [&] {
    const std::int64_t before = of_all_threads;
    media::decode_batch(files, {}, requests, finish, slots.data(), outcomes, 3);
    return of_all_threads - before;
  };
  EXPECT_GT(decode(), 0);  // helpers are started
  int in_a_row = 0;        // a helper may have had nothing to do at first
  for (int i = 0; i < 1000 && in_a_row < 20; ++i) in_a_row = decode() == 0 ? in_a_row + 1 : 0;
  EXPECT_EQ(in_a_row, 20);
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok());
}

// Bytes that malloc has handed out, to anybody.
std::size_t in_use() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Sees how many there are while the picture comes out.
class Watched final : public media::FinishedRows {
 public:
  Status begin(const ImageShape&) override { return {}; }
  void take(std::int64_t, const std::uint8_t*) override { most = std::max(most, in_use()); }

  std::size_t most = 0;
};

// It would keep them, for each thread.
TEST(Allocations, coefficients_of_progressive_pictures_are_not_of_malloc) {
  constexpr std::int64_t kSide = 1024;
  const std::vector<std::uint8_t> pixels(kSide * kSide * 3, 77);
  EncodeOptions how;
  how.format = ImageFormat::jpeg, how.progressive = true, how.subsampling = Subsampling::s444;
  const auto file = encode_image({pixels.data(), kSide, kSide, 3, kSide * 3}, how).value();
  media::CropRequest request;
  request.size = Size{32, 32};
  media::RequestPlanner planner(request, RandomStream(RandomKey(1, 0), 0));
  Watched rows;
  for (int i = 0; i < 2; ++i) {
    const std::size_t before = in_use();
    rows.most = 0;
    ASSERT_TRUE(media::crop_resize(media::as_bytes(file), {}, planner, rows).ok());
    EXPECT_LT(rows.most, before + kSide * kSide);  // of six times that
  }
}

}  // namespace
}  // namespace penstock

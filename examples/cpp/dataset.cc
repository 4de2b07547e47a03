// A dataset from C++: a shuffled folder of pictures becomes batches, and a token resumes it.
#include "penstock/dataset.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Plain pictures to read: 8x8 pixels of one grey each, twenty of them in two classes.
fs::path make_folder() {
  const fs::path root = fs::temp_directory_path() / "penstock-example-pictures";
  fs::remove_all(root);
  for (int i = 0; i < 20; ++i) {
    const fs::path folder = root / (i % 2 == 0 ? "even" : "odd");
    fs::create_directories(folder);
    std::ofstream file(folder / (std::to_string(100 + i) + ".ppm"), std::ios::binary);
    file << "P6 8 8 255\n" << std::string(8 * 8 * 3, char(i * 10));
  }
  return root;
}

bool failed(const penstock::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return true;
}

}  // namespace

int main() {
  const fs::path folder = make_folder();
  const auto dataset = penstock::Dataset::open({folder.string()})
                           .shuffle(7)
                           .decode_image("image", {.size = {{4, 4}}, .flip = 0.5})
                           .select({"image", "label"});
  auto loader = dataset.loader({.batch = 6, .threads = 2, .channels_first = true});
  if (!loader.ok()) return failed(loader.error());

  std::size_t rows = 0;
  penstock::Token token;
  for (;;) {
    auto batch = loader->next();
    if (!batch.ok()) return failed(batch.error());
    if (!*batch) break;
    const penstock::Tensor* images = (*batch)->array("image");
    const penstock::Tensor* labels = (*batch)->array("label");
    if (images == nullptr || labels == nullptr) return 1;
    rows += (*batch)->rows();
    std::printf("%s %s, first label %lld\n", images->shape().to_string().c_str(),
                labels->shape().to_string().c_str(),
                static_cast<long long>(labels->data<std::int64_t>()[0]));
    if (rows == 12) token = loader->token();
  }

  // Another loader, with other threads and another batch size, takes the rest.
  auto rest = dataset.loader({.batch = 4, .threads = 1});
  if (!rest.ok()) return failed(rest.error());
  if (auto status = rest->resume(token); !status.ok()) return failed(status.error());
  std::size_t left = 0;
  for (;;) {
    auto batch = rest->next();
    if (!batch.ok()) return failed(batch.error());
    if (!*batch) break;
    left += (*batch)->rows();
  }
  fs::remove_all(folder);
  std::printf("%zu rows, %zu of them after the token\n", rows, left);
  return rows == 20 && left == 8 ? 0 : 1;
}

#include "transform/view_checks.h"

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

}  // namespace

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height) + " pixels";
}

Status check_view(const char* name, const ConstImageView& view) {
  const std::string who = name;
  if (view.data == nullptr) return bad(who + " has no pixels");
  if (view.width <= 0 || view.height <= 0)
    return bad(who + " is " + size_text(view.width, view.height));
  if (view.channels < 1 || view.channels > 4)
    return bad(who + " has " + std::to_string(view.channels) + " channels, not 1 to 4");
  return {};
}

Status check_out(const ImageView& out, std::int64_t width, std::int64_t height, int channels) {
  if (Status view = check_view("out", out); !view) return view;
  if (out.width != width || out.height != height) {
    return bad("out is " + size_text(out.width, out.height) + ", the result is " +
               size_text(width, height));
  }
  if (out.channels != channels) {
    return bad("out has " + std::to_string(out.channels) + " channels, the result has " +
               std::to_string(channels));
  }
  return {};
}

Status check_same_shape(const ConstImageView& source, const ImageView& out) {
  if (Status view = check_view("source", source); !view) return view;
  return check_out(out, source.width, source.height, source.channels);
}

}  // namespace penstock

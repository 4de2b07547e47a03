#include "transform/resize_spec.h"

#include <cmath>
#include <string>

namespace penstock {
namespace {

Error bad(std::string message) {
  return Error(Code::invalid_argument, std::move(message));
}

Status check_side(const char* name, std::int64_t value) {
  if (value <= 0) return bad(std::string(name) + " must be positive, got " + std::to_string(value));
  if (value > max_side) {
    return Error(Code::out_of_range, std::string(name) + " is " + std::to_string(value) +
                                         ", the largest side that can be resized is " +
                                         std::to_string(max_side));
  }
  return {};
}

std::string describe(const Box& box) {
  std::string text = "(";
  text += std::to_string(box.left) + ", " + std::to_string(box.top) + ", ";
  text += std::to_string(box.right) + ", " + std::to_string(box.bottom) + ")";
  return text;
}

Status check_box(const ResizeSpec& spec, const ResizePlan& plan) {
  if (!std::isfinite(plan.left) || !std::isfinite(plan.top) || !std::isfinite(plan.right) ||
      !std::isfinite(plan.bottom)) {
    return bad("box must be finite, got " + describe(spec.box));
  }
  if (plan.left < 0 || plan.top < 0 || plan.right > static_cast<float>(spec.src_width) ||
      plan.bottom > static_cast<float>(spec.src_height)) {
    return bad("box " + describe(spec.box) + " reaches outside the image of " +
               std::to_string(spec.src_width) + " x " + std::to_string(spec.src_height) +
               " pixels");
  }
  if (!(plan.right > plan.left) || !(plan.bottom > plan.top))
    return bad("box " + describe(spec.box) + " is empty");
  return {};
}

Status check_keep(const ResizeSpec& spec) {
  const Rect& keep = spec.keep;
  const bool inside = keep.x >= 0 && keep.y >= 0 && keep.width > 0 && keep.height > 0 &&
                      keep.x <= spec.out_width && keep.y <= spec.out_height &&
                      keep.width <= spec.out_width - keep.x &&
                      keep.height <= spec.out_height - keep.y;
  if (inside) return {};
  return bad("keep (x " + std::to_string(keep.x) + ", y " + std::to_string(keep.y) + ", " +
             std::to_string(keep.width) + " x " + std::to_string(keep.height) +
             ") is not inside the output of " + std::to_string(spec.out_width) + " x " +
             std::to_string(spec.out_height) + " pixels");
}

}  // namespace

Result<ResizePlan> check(const ResizeSpec& spec) {
  for (const auto& [name, value] : {std::pair{"src_width", spec.src_width},
                                    {"src_height", spec.src_height},
                                    {"out_width", spec.out_width},
                                    {"out_height", spec.out_height}}) {
    if (Status side = check_side(name, value); !side) return std::move(side).error();
  }
  if (spec.channels < 1 || spec.channels > 4)
    return bad("channels must be 1 to 4, got " + std::to_string(spec.channels));
  if (spec.planes < 1 || spec.planes > max_planes)
    return bad("planes must be 1 to 4, got " + std::to_string(spec.planes));
  if (spec.filter > Filter::lanczos)
    return bad("filter " + std::to_string(static_cast<int>(spec.filter)) + " does not exist");

  ResizePlan plan;
  plan.left = static_cast<float>(spec.box.left);
  plan.top = static_cast<float>(spec.box.top);
  plan.right = static_cast<float>(spec.box.right);
  plan.bottom = static_cast<float>(spec.box.bottom);
  if (Status box = check_box(spec, plan); !box) return std::move(box).error();

  const bool keep_all =
      spec.keep.x == 0 && spec.keep.y == 0 && spec.keep.width == 0 && spec.keep.height == 0;
  if (!keep_all) {
    if (Status keep = check_keep(spec); !keep) return std::move(keep).error();
  }
  plan.keep = keep_all ? Rect{0, 0, spec.out_width, spec.out_height} : spec.keep;
  plan.horizontal = spec.out_width != spec.src_width || plan.left != 0 ||
                    plan.right != static_cast<float>(spec.out_width);
  plan.vertical = spec.out_height != spec.src_height || plan.top != 0 ||
                  plan.bottom != static_cast<float>(spec.out_height);
  // Pillow 13's rule, found by comparing its output with both orders.
  const std::int64_t shorter = spec.src_height - spec.out_height;
  plan.vertical_first = plan.horizontal && plan.vertical && spec.order == PassOrder::pillow &&
                        shorter > 0 && shorter > 2 * (spec.src_width - spec.out_width);
  return plan;
}

}  // namespace penstock

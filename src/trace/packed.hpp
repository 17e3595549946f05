// SPDX-License-Identifier: Apache-2.0
// Packed: the used parts of an Area with a profile, for another process of this version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/area.hpp"

namespace tern::trace {

inline constexpr uint64_t kMostPackedBytes = kDefinitionBytes + kProfileBytes + kPage;

/// The time now becomes the end of the profile. Throws std::bad_alloc.
[[nodiscard]] std::string pack(const Area& area, int64_t now_ns);

/// Unpacked has the memory of an area. area() is invalid if the text is damaged.
class Unpacked {
 public:
  explicit Unpacked(std::string_view packed);
  [[nodiscard]] const Area& area() const noexcept { return area_; }

 private:
  std::vector<uint64_t> memory_;
  Area area_;
};

}  // namespace tern::trace

// SPDX-License-Identifier: Apache-2.0
#include "trace/packed.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "trace/profile.hpp"

namespace tern::trace {
namespace {

struct PackedHead {
  uint64_t magic;
  int64_t begin_ns, end_ns;
  uint64_t rows, definitions;  // bytes
};

}  // namespace

std::string pack(const Area& area, int64_t now_ns) {
  const AreaHead& head = area.head();
  const auto used =
      std::min<size_t>(head.profile_rows.load(std::memory_order_acquire), kProfileRows);
  const PackedHead packed{
      kAreaMagic, head.begin_ns, now_ns, used * sizeof(ProfileRow),
      std::min<uint64_t>(head.definitions.load(std::memory_order_acquire), kDefinitionBytes)};
  std::string text(reinterpret_cast<const char*>(&packed), sizeof packed);
  text.append(reinterpret_cast<const char*>(area.profile()), packed.rows);
  text.append(area.definitions(), packed.definitions);
  return text;
}

Unpacked::Unpacked(std::string_view packed) {
  PackedHead head{};
  if (packed.size() < sizeof head) return;
  std::memcpy(&head, packed.data(), sizeof head);
  packed.remove_prefix(sizeof head);
  if (head.magic != kAreaMagic || head.rows > kProfileRows * sizeof(ProfileRow) ||
      head.definitions > kDefinitionBytes || head.rows % sizeof(ProfileRow) != 0 ||
      head.rows + head.definitions != packed.size())
    return;
  const AreaSizes sizes{};
  memory_.resize(sizes.bytes() / sizeof memory_[0]);
  area_ = Area(reinterpret_cast<std::byte*>(memory_.data()), sizes);
  AreaHead& made = *new (memory_.data()) AreaHead{};
  made.magic = kAreaMagic;
  made.pid = 1;
  made.definitions = head.definitions;
  made.profile_rows = static_cast<uint32_t>(head.rows / sizeof(ProfileRow));
  made.begin_ns = head.begin_ns;
  made.end_ns = head.end_ns;
  std::copy_n(packed.data(), head.rows, reinterpret_cast<char*>(area_.profile()));
  std::copy_n(packed.data() + head.rows, head.definitions, area_.definitions());
}

}  // namespace tern::trace

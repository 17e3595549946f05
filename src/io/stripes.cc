// SPDX-License-Identifier: Apache-2.0
#include "io/stripes.hpp"

#include <sys/xattr.h>

#include <array>
#include <cstring>

namespace tern::io {
namespace {

constexpr uint32_t kPlain = 0x0BD10BD0, kWithPool = 0x0BD30BD0, kSpecific = 0x0BD50BD0,
                   kComposite = 0x0BD60BD0;
// Offsets, in bytes.
constexpr size_t kStripeSize = 24, kStripeCount = 28, kPlainBytes = 32;
constexpr size_t kEntryCount = 14, kEntries = 32, kEntryBytes = 48, kEntryOffset = 24;

/// Lustre's clients store numbers in the order of the host.
template <class T>
T number(const std::byte* from) noexcept {
  T value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The highest numbers mean "all targets", before the file has data.
int64_t targets(uint16_t count) noexcept {
  constexpr uint16_t kFirstSpecial = 0xFFE0;
  return count < kFirstSpecial ? count : 0;
}

}  // namespace

Stripes lustre_stripes(const std::byte* text, size_t bytes) noexcept {
  if (bytes < kPlainBytes) return {};
  const auto magic = number<uint32_t>(text);
  if (magic == kPlain || magic == kWithPool || magic == kSpecific)
    return {number<uint32_t>(text + kStripeSize), targets(number<uint16_t>(text + kStripeCount))};
  if (magic != kComposite) return {};
  Stripes last;
  const size_t count = number<uint16_t>(text + kEntryCount);
  for (size_t i = 0; i < count && kEntries + (i + 1) * kEntryBytes <= bytes; ++i) {
    const size_t at = number<uint32_t>(text + kEntries + i * kEntryBytes + kEntryOffset);
    if (at < kEntries || at + kPlainBytes > bytes) continue;
    if (number<uint32_t>(text + at) == kComposite) continue;
    if (const Stripes one = lustre_stripes(text + at, bytes - at); one.bytes > 0) last = one;
  }
  return last;
}

Stripes find_stripes(int fd, int64_t block) noexcept {
  std::array<std::byte, 16384> text;
  const ssize_t got = ::fgetxattr(fd, "lustre.lov", text.data(), text.size());
  const Stripes found = got > 0 ? lustre_stripes(text.data(), static_cast<size_t>(got)) : Stripes{};
  // Smaller blocks would be a system call each.
  constexpr int64_t kLeastStripe = 1 << 20;
  return found.bytes > 0 || block < kLeastStripe ? found : Stripes{block, 0};
}

int64_t fitting_aggregators(int64_t targets, int64_t most) noexcept {
  if (targets <= 0 || most <= 0) return most;
  if (most >= targets) return most - most % targets;
  while (targets % most != 0) --most;
  return most;
}

}  // namespace tern::io

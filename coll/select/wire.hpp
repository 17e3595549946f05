// SPDX-License-Identifier: Apache-2.0
// Wire: what kernels of collectives between GPUs write to other ranks. Its words are those of
// TERN_GPU_WIRE, of the hint tern_gpu_wire and of the lines of a table. See: coll/gpu/way.hpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tern::coll {

enum class Wire : uint8_t {
  kAuto,
  kSimple,    // data, then a word that says so
  kLl,        // words of data and flag
  kLl128,     // lines of both
  kMultimem,  // to all at once, where a switch reduces
};
inline constexpr const char* kWireNames[] = {"auto", "simple", "ll", "ll128", "multimem"};
inline constexpr int kWires = static_cast<int>(std::size(kWireNames));

[[nodiscard]] constexpr const char* name_of(Wire wire) noexcept {
  return kWireNames[static_cast<int>(wire)];
}
[[nodiscard]] constexpr std::optional<Wire> find_wire(std::string_view name) noexcept {
  for (int i = 0; i < kWires; ++i)
    if (name == kWireNames[i]) return static_cast<Wire>(i);
  return std::nullopt;
}

/// A set of them.
class Wires {
 public:
  constexpr void add(Wire wire) noexcept { bits_ |= 1U << static_cast<unsigned>(wire); }
  constexpr void remove(Wire wire) noexcept { bits_ &= ~(1U << static_cast<unsigned>(wire)); }
  [[nodiscard]] constexpr bool has(Wire wire) const noexcept {
    return (bits_ >> static_cast<unsigned>(wire) & 1U) != 0;
  }
  bool operator==(const Wires&) const = default;

 private:
  uint32_t bits_ = 0;
};

}  // namespace tern::coll

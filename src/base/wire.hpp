// SPDX-License-Identifier: Apache-2.0
// Wire: the protocol of kernels to other ranks' GPUs, named by kWireNames in TERN_GPU_WIRE, the
// hint tern_gpu_wire and tables. See: coll/gpu/push_wires.hpp.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace tern {

// ROW(value, word, kernel, meaning): a wire of PushRun and its kernel tern_KERNEL. A call takes the
// first suitable wire.
#define TERN_PUSH_WIRES(ROW)                                       \
  ROW(kLl, ll, push, "words of data and flag, in one or two hops") \
  ROW(kLl128, ll128, push_lines, "packets of both, over NVLink")   \
  ROW(kBulk, bulk, push_bulk, "data, then a flag, in one or two hops, of any size")
#define TERN_WIRE_VALUE(value, word, kernel, meaning) value,
#define TERN_WIRE_NAME(value, word, kernel, meaning) #word,
#define TERN_WIRE_WORD(value, word, kernel, meaning) "|" #word
#define TERN_WIRE_MEANING(value, word, kernel, meaning) ", " #word " (" meaning ")"

enum class Wire : uint8_t {
  kAuto,
  kSimple,                                     // data, then a signal
  TERN_PUSH_WIRES(TERN_WIRE_VALUE) kMultimem,  // a store to all ranks; a switch reduces
};
inline constexpr const char* kWireNames[] = {"auto", "simple",
                                             TERN_PUSH_WIRES(TERN_WIRE_NAME) "multimem"};
inline constexpr int kWires = static_cast<int>(std::size(kWireNames));
inline constexpr char kWireWords[] = "auto|simple" TERN_PUSH_WIRES(TERN_WIRE_WORD) "|multimem";
#undef TERN_WIRE_VALUE
#undef TERN_WIRE_NAME
#undef TERN_WIRE_WORD

inline constexpr Wire kPushWires[] = {
#define TERN_WIRE(value, word, kernel, meaning) Wire::value,
    TERN_PUSH_WIRES(TERN_WIRE)
#undef TERN_WIRE
};
[[nodiscard]] constexpr int push_index(Wire wire) noexcept {
  return wire < Wire::kMultimem ? static_cast<int>(wire) - static_cast<int>(kPushWires[0]) : -1;
}

[[nodiscard]] constexpr const char* name_of(Wire wire) noexcept {
  return kWireNames[static_cast<int>(wire)];
}
[[nodiscard]] constexpr std::optional<Wire> find_wire(std::string_view name) noexcept {
  for (int i = 0; i < kWires; ++i)
    if (name == kWireNames[i]) return static_cast<Wire>(i);
  return std::nullopt;
}

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

}  // namespace tern

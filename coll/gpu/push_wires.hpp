// SPDX-License-Identifier: Apache-2.0
// PushFacts: sizes, slots and requirements of each wire of PushRun. A new wire is a row here and in
// base/wire.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/wire.hpp"

namespace tern::coll {

/// PushLimit: the largest vector or block for a wire without a request; modelled, not measured.
struct PushLimit {
  size_t bytes;
  const char* beyond;  // reasons against larger data, and for smaller data
  const char* within;
};

inline constexpr int kMostPushParts = 32;

struct PushFacts {
  Wire wire;
  const char* name;
  PushLimit one_hop, two_hops;
  size_t vectors, bytes;   // 16-byte vectors of data in a unit; bytes of a unit in a slot
  size_t most;             // units per slot
  size_t share;            // a wire's slots take at most 1/share of the scratch
  int parts;               // most thread blocks
  bool flags;              // a flag per slot, outside the slot
  bool lines;              // needs NVLink, because 128-byte packets must arrive whole (lines.hpp)
  const char* no_barrier;  // the reason against barriers, or null
};

inline constexpr std::array kPushFacts = {
    PushFacts{Wire::kLl,
              "LL",
              {32 << 10, "more than 32 KiB", "one hop of at most 32 KiB"},
              {256 << 10, "more than 256 KiB", "two hops of at most 256 KiB"},
              1,
              32,
              256,
              8,
              16,
              false,
              false,
              nullptr},
    // 18 units hold an allreduce of 1 MiB on 8 ranks in two hops.
    PushFacts{Wire::kLl128,
              "LL128",
              {256 << 10, "more than 256 KiB", "one hop of at most 256 KiB over NVLink"},
              {1 << 20, "more than 1 MiB", "two hops of at most 1 MiB over NVLink"},
              30,
              512,
              18,
              8,
              16,
              false,
              true,
              "a barrier has no data"},
    PushFacts{Wire::kBulk,
              "bulk",
              {SIZE_MAX, "", "one hop of any size"},
              {SIZE_MAX, "", "two hops of any size"},
              8,
              128,
              1024,
              4,
              kMostPushParts,
              true,
              false,
              "a barrier has no data"},
};
inline constexpr int kPushes = static_cast<int>(kPushFacts.size());

static_assert(
    [] {
      bool alike = kPushFacts.size() == std::size(kPushWires);
      for (size_t i = 0; alike && i < kPushFacts.size(); ++i)
        alike = kPushFacts[i].wire == kPushWires[i];
      return alike;
    }(),
    "the rows are those of TERN_PUSH_WIRES, in its order");

[[nodiscard]] constexpr const PushFacts& facts_of(Wire wire) noexcept {
  return kPushFacts[static_cast<size_t>(push_index(wire))];
}

}  // namespace tern::coll

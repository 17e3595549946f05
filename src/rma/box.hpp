// SPDX-License-Identifier: Apache-2.0
// Box: a slot for a small operation, executed by the polling target for an origin on its host.
// Protocol (reasons: README): `state` goes from empty to claimed by an origin, posted, taken by the
// target, done, and back. A box claimed by a dead origin stays lost. Threads: any, of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/number.hpp"

namespace tern::rma {

/// An operation, with the target's addresses.
struct Errand {
  enum class Kind : uint8_t { kPut, kGet, kAccumulate, kSwap };
  Kind kind;
  bool reads = false, fetches = false;  // of an accumulate: without input; with a result
  Reduction reduction = Reduction::kNoOp;
  Number number = Number::kNone;
  uint16_t size = 0, extent = 0, span = 0, alignment = 1;
  uint32_t bytes = 0;
  uint32_t count = 1;
  uint64_t address = 0;
};

struct alignas(64) Box {
  enum State : uint32_t { kEmpty, kClaimed, kPosted, kTaken, kDone };
  static constexpr size_t kRoom = 1024;
  std::atomic<uint32_t> polls;
  alignas(64) std::atomic<uint32_t> state;
  int32_t code;
  Errand errand;
  alignas(64) std::byte data[kRoom];
};

}  // namespace tern::rma

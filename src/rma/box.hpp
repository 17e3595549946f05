// SPDX-License-Identifier: Apache-2.0
// Box: room in a target's control block for one small operation, which the target does for an
// origin of its host while it moves messages.
// Why: a copy by the kernel costs a microsecond, and a target that polls has done the same in a
// fifth of it.
// Protocol: `state` goes from empty to claimed by an origin, posted, taken by the target, done, and
// back. Who has waited for a moment takes a posted operation back, and does it by itself. A target
// counts its polls: where one was slow, nothing is posted until it has polled again. What an origin
// that ends leaves in the box stays, and the kernel does the rest.
// Lifetime: the control block's. Threads: any, of any process. See: rma/boxes.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/number.hpp"

namespace tern::rma {

/// An operation, without its data. Addresses are the target's.
struct Errand {
  enum class Kind : uint8_t { kPut, kGet, kAccumulate, kSwap };
  Kind kind;
  bool reads = false, fetches = false;  // of an accumulate: nothing goes in; something comes back
  Reduction reduction = Reduction::kNoOp;
  Number number = Number::kNone;
  uint16_t size = 0, extent = 0, span = 0, alignment = 1;  // of an element
  uint32_t bytes = 0;                                      // of the data, at most kRoom
  uint32_t count = 1;                                      // of elements
  uint64_t address = 0;
};

struct alignas(64) Box {
  enum State : uint32_t { kEmpty, kClaimed, kPosted, kTaken, kDone };
  static constexpr size_t kRoom = 1024;
  std::atomic<uint32_t> polls;  // of the target
  alignas(64) std::atomic<uint32_t> state;
  int32_t code;  // an error class
  Errand errand;
  alignas(64) std::byte data[kRoom];  // what goes in, then what comes back
};

}  // namespace tern::rma

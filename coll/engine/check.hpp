// SPDX-License-Identifier: Apache-2.0
// Check: TERN_CHECK=collective. Before a collective each rank sends its call around a ring, through
// both groups of an inter-communicator, and compares its predecessor's call. Both neighbours detect
// a mismatch and refuse the call (refusal.hpp). Cost: a message of sizeof(Call) per rank. See:
// MPI-5.0 section 6.14.
#pragma once

#include <cstdint>
#include <string>

#include "coll/engine/operation.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

inline constexpr int32_t kNoRoot = -1;
/// As a root: the root of an inter-communicator's call is in this rank's group.
inline constexpr int32_t kOnThisSide = -2;

struct ComparedCall {
  Collective collective;
  bool irregular, untyped;
  int32_t root;
  uint64_t bytes, elements, hash;  // of a vector or block; 0 if blocks differ
  char op[24];
  char data[64];
};

[[nodiscard]] ComparedCall call_of(const Operation& operation) noexcept;
[[nodiscard]] std::string in_words(const ComparedCall& call);
[[nodiscard]] int differ(const ComparedCall& one, const ComparedCall& other) noexcept;

class CallCheck {
 public:
  [[nodiscard]] int begin(pml::Pml& pml, core::Datatype* byte, const Operation& operation,
                          int tag) noexcept;
  [[nodiscard]] bool done() const noexcept { return sent_->done() && received_->done(); }
  /// fail() has the texts of both calls after end() has found a mismatch.
  [[nodiscard]] int end(uint32_t number) noexcept;
  /// drop() returns false while peers may access the messages.
  [[nodiscard]] bool drop() noexcept;

 private:
  core::Communicator* comm_ = nullptr;
  ComparedCall mine_, theirs_;
  core::Request *sent_ = nullptr, *received_ = nullptr;
  bool dropped_ = false;
};

[[nodiscard]] const Side& agreed_side(const Operation& operation) noexcept;

}  // namespace tern::coll

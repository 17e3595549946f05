// SPDX-License-Identifier: Apache-2.0
// Check: TERN_CHECK=collective. Before a collective moves data each rank tells the next one of the
// ring what it calls, and compares what the one before says. Between two groups the ring goes
// through both; of a call on the other side fewer things can be compared. Why: a root, count, type
// or operation that differs is a hang or garbage without it. Two neighbours that differ both know,
// and refuse the call (refusal.hpp). Cost: a message of sizeof(Call) per rank. See: MPI-5.0
// section 6.14; tests/mpi/coll_check.sh.
#pragma once

#include <cstdint>
#include <string>

#include "coll/engine/operation.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

inline constexpr int32_t kNoRoot = -1;
/// Of two groups.
inline constexpr int32_t kOnThisSide = -2;

/// One rank's call; travels as it is.
struct Call {
  Collective collective;
  bool irregular, untyped;
  int32_t root;                    // kNoRoot, kOnThisSide, or a rank
  uint64_t bytes, elements, hash;  // of the vector, or of one block; 0 where blocks differ
  char op[24];
  char data[64];  // "10 MPI_INT"
};

[[nodiscard]] Call call_of(const Operation& operation) noexcept;
/// "bcast of 10 MPI_INT from root 0".
[[nodiscard]] std::string in_words(const Call& call);
/// The error class of the first thing in which they differ; MPI_SUCCESS where nothing does.
[[nodiscard]] int differ(const Call& one, const Call& other) noexcept;

/// The exchange of one execution, while it is under way. Under the channel's lock.
class CallCheck {
 public:
  /// Posts both messages. An error class with fail() text.
  [[nodiscard]] int begin(pml::Pml& pml, core::Datatype* byte, const Operation& operation,
                          int tag) noexcept;
  [[nodiscard]] bool done() const noexcept { return sent_->done() && received_->done(); }
  /// Once it is done: MPI_SUCCESS where the calls match, else an error class with fail() text that
  /// names both. `number`: of the collective.
  [[nodiscard]] int end(uint32_t number) noexcept;
  /// Cancels what is under way; false while the peers may still look at it.
  [[nodiscard]] bool drop() noexcept;

 private:
  core::Communicator* comm_ = nullptr;
  Call mine_, theirs_;
  core::Request *sent_ = nullptr, *received_ = nullptr;
  bool dropped_ = false;  // both are cancelled
};

/// The side whose size all ranks agree on.
[[nodiscard]] const Side& agreed_side(const Operation& operation) noexcept;

}  // namespace tern::coll

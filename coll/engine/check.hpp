// SPDX-License-Identifier: Apache-2.0
// Check: TERN_CHECK=collective. Before a collective each rank sends its call to the next rank of a
// ring and compares the call of the previous rank. The ring covers both groups of an
// inter-communicator; calls across groups compare fewer fields. Why: a different root, count, type
// or operation otherwise hangs or corrupts data. Both neighbours detect a mismatch and refuse the
// call (refusal.hpp). Cost: a message of sizeof(Call) per rank. See: MPI-5.0 section 6.14;
// tests/mpi/coll_check.sh.
#pragma once

#include <cstdint>
#include <string>

#include "coll/engine/operation.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

inline constexpr int32_t kNoRoot = -1;
/// Root of an inter-communicator's call, on this side.
inline constexpr int32_t kOnThisSide = -2;

/// One rank's call, sent as raw bytes.
struct Call {
  Collective collective;
  bool irregular, untyped;
  int32_t root;                    // kNoRoot, kOnThisSide, or a rank
  uint64_t bytes, elements, hash;  // of the vector or a block; 0 if blocks differ
  char op[24];
  char data[64];  // "10 MPI_INT"
};

[[nodiscard]] Call call_of(const Operation& operation) noexcept;
/// "bcast of 10 MPI_INT from root 0".
[[nodiscard]] std::string in_words(const Call& call);
/// The error class of the first difference, or MPI_SUCCESS.
[[nodiscard]] int differ(const Call& one, const Call& other) noexcept;

/// The exchange of one execution. Under the channel's lock.
class CallCheck {
 public:
  /// Posts both messages. Returns an error class, with the text in fail().
  [[nodiscard]] int begin(pml::Pml& pml, core::Datatype* byte, const Operation& operation,
                          int tag) noexcept;
  [[nodiscard]] bool done() const noexcept { return sent_->done() && received_->done(); }
  /// Call when done. Returns MPI_SUCCESS if the calls match, else an error class, with both calls
  /// in fail(). `number`: of the collective.
  [[nodiscard]] int end(uint32_t number) noexcept;
  /// Cancels the exchange; false while peers may still access it.
  [[nodiscard]] bool drop() noexcept;

 private:
  core::Communicator* comm_ = nullptr;
  Call mine_, theirs_;
  core::Request *sent_ = nullptr, *received_ = nullptr;
  bool dropped_ = false;
};

/// The side with a size equal on all ranks.
[[nodiscard]] const Side& agreed_side(const Operation& operation) noexcept;

}  // namespace tern::coll

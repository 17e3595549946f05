// SPDX-License-Identifier: Apache-2.0
// Excuse: reports refused arguments of a collective to the other ranks, and keeps the collective's
// numbers equal. See: coll/engine/refusal.hpp; src/abi/raise.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "api/attempt.hpp"
#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"

namespace tern::api {

/// The protocol of a refused call.
enum class CallContext : uint8_t {
  kNone,
  kCollective,
  kPersistent,
  kSplit,  // MPI_Comm_split, MPI_Comm_split_type
  kSplitType,
  kCreate,      // MPI_Comm_create
  kDerivation,  // created without a message
  kEnqueued,    // collectives on a stream
};

/// Sends the last fail() to the other ranks and keeps it. `aliased` names the collective if
/// overlapping buffers are the only fault.
void notify_refusal(core::Communicator& communicator, CallContext part, int code,
                    std::optional<coll::CallKind> aliased = std::nullopt) noexcept;

/// attempt() for a collective; an exception means the call was not begun.
template <class Work>
[[nodiscard]] int attempt(core::Communicator& communicator, CallContext part,
                          Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  if (thrown != 0) notify_refusal(communicator, part, thrown);
  return thrown != 0 ? thrown : code;
}

/// comm_split.cc: this rank takes part in the exchange without a vote.
void refuse_split(core::Communicator& communicator, bool by_type, int code);

/// streams.cc: reports when the peers' streams arrive.
void refuse_enqueued(core::Communicator& communicator, int code,
                     std::optional<coll::CallKind> aliased);

/// comm_create.cc: this rank acts as if its group were refused.
void refuse_create(core::Communicator& communicator, int code);

}  // namespace tern::api

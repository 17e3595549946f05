// SPDX-License-Identifier: Apache-2.0
// Excuse: reports this rank's refused arguments of a collective to the other ranks, before the body
// runs, and keeps the collective's numbers equal on all ranks.
// See: coll/engine/refusal.hpp; src/abi/raise.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "api/attempt.hpp"
#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"

namespace tern::api {

/// The protocol of a refused call.
enum class Part : uint8_t {
  kNone,
  kCollective,
  kPersistent,
  kSplit,  // MPI_Comm_split, MPI_Comm_split_type
  kSplitType,
  kCreate,      // MPI_Comm_create
  kDerivation,  // communicators created without a message
  kEnqueued,    // collectives on a stream
};

/// Sends the reason, the last fail(), and keeps it. `aliased`: the collective, if shared memory of
/// its buffers is the only fault.
void excuse(core::Communicator& communicator, Part part, int code,
            std::optional<coll::CallKind> aliased = std::nullopt) noexcept;

/// Works like attempt() for a collective; reports an exception of `work` as a call not begun.
template <class Work>
[[nodiscard]] int attempt(core::Communicator& communicator, Part part, Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  if (thrown != 0) excuse(communicator, part, thrown);
  return thrown != 0 ? thrown : code;
}

/// comm_split.cc: takes part in the exchange without a vote.
void refuse_split(core::Communicator& communicator, bool by_type, int code);

/// streams.cc: reports when the peers' streams reach the operation.
void refuse_enqueued(core::Communicator& communicator, int code,
                     std::optional<coll::CallKind> aliased);

/// comm_create.cc: acts like MPI_Comm_create with a refused group.
void refuse_create(core::Communicator& communicator, int code);

}  // namespace tern::api

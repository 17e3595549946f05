// SPDX-License-Identifier: Apache-2.0
// Excuse: what the others of a collective call hear where this rank's arguments were refused before
// its body ran, and what keeps its numbers in step with theirs.
// See: coll/engine/refusal.hpp; src/abi/raise.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "api/attempt.hpp"
#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"

namespace tern::api {

/// What a call is a part of.
enum class Part : uint8_t {
  kNone,
  kCollective,
  kPersistent,
  kSplit,  // MPI_Comm_split, MPI_Comm_split_type
  kSplitType,
  kCreate,      // MPI_Comm_create
  kDerivation,  // communicators that are made without a message
  kEnqueued,    // collectives on a stream
};

/// The reason is the last fail(), which stays. `aliased`: this collective, if buffers that share
/// memory are all that is wrong with it.
void excuse(core::Communicator& communicator, Part part, int code,
            std::optional<coll::CallKind> aliased = std::nullopt) noexcept;

/// As attempt(), of a collective: what `work` throws is that it was not begun.
template <class Work>
[[nodiscard]] int attempt(core::Communicator& communicator, Part part, Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  if (thrown != 0) excuse(communicator, part, thrown);
  return thrown != 0 ? thrown : code;
}

/// comm_split.cc: the exchange, without a vote.
void refuse_split(core::Communicator& communicator, bool by_type, int code);

/// streams.cc: what the others hear when their streams come to it.
void refuse_enqueued(core::Communicator& communicator, int code,
                     std::optional<coll::CallKind> aliased);

/// comm_create.cc: as MPI_Comm_create with a group that is refused.
void refuse_create(core::Communicator& communicator, int code);

}  // namespace tern::api

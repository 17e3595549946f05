// SPDX-License-Identifier: Apache-2.0
// Excuse: what the others of a collective call hear where this rank's arguments were refused before
// its body ran, and what keeps its numbers in step with theirs.
// See: coll/refusal.hpp; src/abi/raise.cc.
#pragma once

#include <cstdint>

#include "core/communicator.hpp"

namespace tern::api {

/// What a call is a part of.
enum class Part : uint8_t {
  kNone,
  kCollective,
  kPersistent,
  kSplit,  // MPI_Comm_split, MPI_Comm_split_type
  kSplitType,
  kDerivation,  // communicators that are made without a message
};

/// The reason is the last fail(), which stays.
void excuse(core::Communicator& communicator, Part part, int code) noexcept;

/// comm_split.cc: the exchange, without a vote.
void refuse_split(core::Communicator& communicator, bool by_type, int code);

}  // namespace tern::api

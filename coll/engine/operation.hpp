// SPDX-License-Identifier: Apache-2.0
// Operation: a collective call in the terms of coll/schedule/collective.hpp: what it is, and the
// two buffers. Why: forty MPI functions (blocking, nonblocking, irregular) become one description.
#pragma once

#include <string>

#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/device_copy.hpp"
#include "core/op.hpp"
#include "mpi.h"

namespace tern::coll {

/// One buffer of the caller's. Blocks of `count` elements one after the other, or of counts[i]
/// elements at displs[i] (elements from `address`; without displs one after the other). Operations
/// that split: one vector of `count`. With `types` every block has its own, and displs count bytes.
struct Side {
  void* address = nullptr;
  MPI_Count count = 0;
  core::Datatype* type = nullptr;
  const MPI_Count* counts = nullptr;
  const MPI_Aint* displs = nullptr;
  core::Datatype* const* types = nullptr;
};

/// Where its data begins; null where the rank lacks it. The address of types that count from
/// MPI_BOTTOM is null, too.
[[nodiscard]] inline std::byte* first_byte_of(const Side& side) noexcept {
  if (side.type == nullptr) return nullptr;
  return static_cast<std::byte*>(side.address) + side.type->true_lb();
}

/// Block `block` of a side that has several; -1: what is a single one. Said to be a device's.
[[nodiscard]] core::Data block_of(const Side& side, int32_t block) noexcept;

struct Operation {
  /// Plain stores to the members: a string instruction takes longer.
  Operation() noexcept {}
  Collective collective = Collective::kBarrier;
  core::Communicator* communicator = nullptr;
  int root = 0;  // between groups as in Schedule
  core::Op* op = nullptr;
  /// A side that the rank lacks (output of a reduce away from the root, ...) is left as it is.
  Side input, output;
  /// MPI_IN_PLACE was given: the input's (scatter: the output's) address and type mean nothing.
  bool in_place = false;
  /// The output of a reduce-scatter is the own block of its input.
  bool onto_own_block = false;
  /// Blocks differ (gatherv, ...), on this rank or on others.
  bool irregular = false;
  /// What the user calls it, where it serves another operation.
  const char* serves = nullptr;

  [[nodiscard]] CallKind kind(bool blocking) const noexcept { return {collective, blocking, root}; }
};

/// "its part in an allreduce on MPI_COMM_WORLD": what a rank waits for.
[[nodiscard]] std::string part_in(const char* name, const core::Communicator& communicator);

}  // namespace tern::coll

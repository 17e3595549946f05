// SPDX-License-Identifier: Apache-2.0
// Operation: a collective call in the terms of coll/schedule/collective.hpp; covers forty MPI
// functions.
#pragma once

#include <string>

#include "coll/schedule/collective.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/device_copy.hpp"
#include "core/op.hpp"
#include "mpi.h"

namespace tern::coll {

/// An ElementRange is elements [first, first + count) of a block or vector; bytes where the type is
/// not needed.
struct ElementRange {
  MPI_Count first, count;
  [[nodiscard]] MPI_Count end() const noexcept { return first + count; }
};

/// A buffer: blocks of `count` elements, or of counts[i] elements at displs[i] (in elements;
/// adjacent without displs). Operations that split: a vector of `count`. With `types`, displs count
/// bytes.
struct Side {
  void* address = nullptr;
  MPI_Count count = 0;
  core::Datatype* type = nullptr;
  const MPI_Count* counts = nullptr;
  const MPI_Aint* displs = nullptr;
  core::Datatype* const* types = nullptr;
};

/// first_byte_of() returns null if the rank has no data. With MPI_BOTTOM, true_lb() is the address.
[[nodiscard]] inline std::byte* first_byte_of(const Side& side) noexcept {
  if (side.type == nullptr) return nullptr;
  return static_cast<std::byte*>(side.address) + side.type->true_lb();
}

/// `block` is -1 for a side without blocks. block_of() marks device data.
[[nodiscard]] core::Data block_of(const Side& side, int32_t block) noexcept;

struct Operation {
  Operation() noexcept {}
  Collective collective = Collective::kBarrier;
  core::Communicator* communicator = nullptr;
  int root = 0;  // inter-communicators: see Schedule
  core::Op* op = nullptr;
  Side input, output;
  /// MPI_IN_PLACE: the input's (scatter: the output's) address and type are ignored.
  bool in_place = false;
  bool onto_own_block = false;
  bool irregular = false;
  /// The name of the user's call, if different.
  const char* serves = nullptr;

  [[nodiscard]] CallKind kind(bool blocking) const noexcept { return {collective, blocking, root}; }
};

[[nodiscard]] std::string part_in(const char* name, const core::Communicator& communicator);

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// The three ways to drive a collective, for the bodies of the chapter.
// Why: every form of an operation differs only in how its one description is started.
#pragma once

#include <optional>
#include <vector>

#include "coll/coll.hpp"
#include "coll/engine/operation.hpp"

namespace tern::api {

/// An operation, or the error that its arguments are (with fail() text).
struct Described {
  coll::Operation operation{};
  int code = MPI_SUCCESS;
  bool aliased = false;  // which is what is wrong
  [[nodiscard]] std::optional<coll::CallKind> aliased_call(bool blocking) const noexcept {
    return aliased ? std::optional(operation.kind(blocking)) : std::nullopt;
  }
};

/// Starts and waits.
[[nodiscard]] int run(const Described& what) noexcept;
/// MPI_I...
[[nodiscard]] int begin(const Described& what, MPI_Request* request) noexcept;
/// MPI_..._init
[[nodiscard]] int plan(const Described& what, MPI_Request* request) noexcept;

/// MPIX_..._enqueue, of this name.
[[nodiscard]] int enqueue(const Described& what, const char* name) noexcept;

/// Whether the caller is the root: on an inter-communicator MPI_ROOT says so.
[[nodiscard]] inline bool is_root(const core::Communicator& comm, int root) noexcept {
  return comm.inter() ? root == MPI_ROOT : comm.rank() == root;
}

/// Whether what leaves hand in, or get, counts: on an inter-communicator in the other group alone.
[[nodiscard]] inline bool is_leaf(const core::Communicator& comm, int root) noexcept {
  return !comm.inter() || root >= 0;
}

/// A side whose blocks are alike, and one whose blocks differ.
[[nodiscard]] inline coll::Side side_of(const void* buffer, MPI_Count count,
                                        core::Datatype& type) noexcept {
  return {const_cast<void*>(buffer), count, &type};
}
[[nodiscard]] inline coll::Side side_of(const void* buffer, const MPI_Count* counts,
                                        const MPI_Aint* displs, core::Datatype& type) noexcept {
  return {const_cast<void*>(buffer), 0, &type, counts, displs};
}

/// The beginning of every description.
[[nodiscard]] Described describe(coll::Collective collective, core::Communicator& comm) noexcept;

/// Arrays of counts and displacements must be there, and no count of `blocks` negative. These
/// return an error class with fail() text.
[[nodiscard]] int check_counts(const coll::Side& side, int blocks, const char* counts,
                               const char* displs) noexcept;
/// The objects behind the types' handles; a type of no elements may be MPI_DATATYPE_NULL.
[[nodiscard]] int find_types(const MPI_Datatype* handles, const MPI_Count* counts, int blocks,
                             const char* name, std::vector<core::Datatype*>* found);

/// The same, of a description's side and with every rank a block, unless checks are off.
void check_blocks(Described* what, const coll::Side& side, const char* counts,
                  const char* displs) noexcept;

/// What a rank sends itself must be what it receives from itself, and in another place.
[[nodiscard]] Described agreed(Described what, int input_block, int output_block) noexcept;

}  // namespace tern::api

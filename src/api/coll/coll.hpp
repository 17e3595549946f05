// SPDX-License-Identifier: Apache-2.0
// Descriptions of collectives, for the bodies of the chapter: a body describes its operation, and
// start() runs the form that the program called.
#pragma once

#include <optional>
#include <vector>

#include "api/form.hpp"
#include "coll/coll.hpp"
#include "coll/engine/operation.hpp"

namespace tern::api {

/// An operation, or the error that its arguments are (with fail() text).
struct Described {
  coll::Operation operation{};
  int code = MPI_SUCCESS;
  bool aliased = false;  // the error: equal buffers
  [[nodiscard]] std::optional<coll::CallKind> aliased_call(bool blocking) const noexcept {
    return aliased ? std::optional(operation.kind(blocking)) : std::nullopt;
  }
};

// Other ranks hear of a refusal. These return an error class with fail() text.

/// Starts and waits.
[[nodiscard]] int run(const Described& what) noexcept;
/// Into the stream of the communicator.
[[nodiscard]] int enqueue(const Described& what) noexcept;
/// All forms but the blocking one.
[[nodiscard]] int start_unblocked(const Described& what, Form form) noexcept;
/// In its form.
[[nodiscard]] inline int start(const Described& what, Form form) noexcept {
  return form.kind == Form::Kind::kBlocking ? run(what) : start_unblocked(what, form);
}

/// Whether the caller is the root: on an inter-communicator MPI_ROOT says so.
[[nodiscard]] inline bool is_root(const core::Communicator& comm, int root) noexcept {
  return comm.inter() ? root == MPI_ROOT : comm.rank() == root;
}

/// Whether data of leaves counts: on an inter-communicator in the other group alone.
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

/// Refuses missing arrays of counts and displacements, and negative counts among `blocks`. An
/// error class with fail() text, as find_types().
[[nodiscard]] int check_counts(const coll::Side& side, int blocks, const char* counts,
                               const char* displs) noexcept;
/// The objects behind the types' handles; a type of no elements may be MPI_DATATYPE_NULL.
[[nodiscard]] int find_types(const MPI_Datatype* handles, const MPI_Count* counts, int blocks,
                             const char* name, std::vector<core::Datatype*>* found);

/// The same, of a description's side and with every rank a block, unless checks are off.
void check_blocks(Described* what, const coll::Side& side, const char* counts,
                  const char* displs) noexcept;

/// Refuses a rank's message to itself whose two ends differ in bytes or share memory.
[[nodiscard]] Described agreed(Described what, int input_block, int output_block) noexcept;

}  // namespace tern::api

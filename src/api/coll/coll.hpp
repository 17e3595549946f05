// SPDX-License-Identifier: Apache-2.0
// Descriptions of collectives: a body describes its operation, start() runs the called form.
#pragma once

#include <optional>
#include <vector>

#include "api/form.hpp"
#include "coll/coll.hpp"
#include "coll/engine/operation.hpp"

namespace tern::api {

struct Described {
  coll::Operation operation{};
  int code = MPI_SUCCESS;
  bool aliased = false;
  [[nodiscard]] std::optional<coll::CallKind> aliased_call(bool blocking) const noexcept {
    return aliased ? std::optional(operation.kind(blocking)) : std::nullopt;
  }
};

// run(), enqueue() and start_unblocked() report refusals to other ranks and return an error class
// with fail() text.

[[nodiscard]] int run(const Described& what) noexcept;
[[nodiscard]] int enqueue(const Described& what) noexcept;
[[nodiscard]] int start_unblocked(const Described& what, Form form) noexcept;
[[nodiscard]] inline int start(const Described& what, Form form) noexcept {
  return form.kind == Form::Kind::kBlocking ? run(what) : start_unblocked(what, form);
}

/// The root of an inter-communicator passes MPI_ROOT.
[[nodiscard]] inline bool is_root(const core::Communicator& comm, int root) noexcept {
  return comm.inter() ? root == MPI_ROOT : comm.rank() == root;
}

/// Whether the caller has a leaf's data (the root of an intra-communicator has such data too).
[[nodiscard]] inline bool is_leaf(const core::Communicator& comm, int root) noexcept {
  return !comm.inter() || root >= 0;
}

[[nodiscard]] inline coll::Side side_of(const void* buffer, MPI_Count count,
                                        core::Datatype& type) noexcept {
  return {const_cast<void*>(buffer), count, &type};
}
[[nodiscard]] inline coll::Side side_of(const void* buffer, const MPI_Count* counts,
                                        const MPI_Aint* displs, core::Datatype& type) noexcept {
  return {const_cast<void*>(buffer), 0, &type, counts, displs};
}

[[nodiscard]] Described describe(coll::Collective collective, core::Communicator& comm) noexcept;

[[nodiscard]] int check_counts(const coll::Side& side, int blocks, const char* counts,
                               const char* displs) noexcept;
/// A type with count 0 may be MPI_DATATYPE_NULL. find_types() returns an error class, with text in
/// fail(), for an invalid datatype.
[[nodiscard]] int find_types(const MPI_Datatype* handles, const MPI_Count* counts, int blocks,
                             const char* name, std::vector<core::Datatype*>* found);

void check_blocks(Described* what, const coll::Side& side, const char* counts,
                  const char* displs) noexcept;

/// agreed() refuses a rank's message to itself if the sent and the received block differ in size or
/// start at the same address. The first blocks of both buffers must not start there either.
[[nodiscard]] Described agreed(Described what, int input_block, int output_block) noexcept;

}  // namespace tern::api

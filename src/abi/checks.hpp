// SPDX-License-Identifier: Apache-2.0
// Argument checks of the entry points: inline predicates and out-of-line error texts.
// Cost: at most 3 ns for all checks of an MPI_Send (tests/mpi/abi_cost.sh).
// See: src/abi/emit_entry.py (the checks of each parameter kind), MPI-5.0 section 9.3.
#pragma once

#include "abi/entry.hpp"
#include "core/topology.hpp"

namespace tern::abi {

// MPI_TAG_UB is INT_MAX, so only negative tags are invalid.
inline bool bad_tag(int tag) noexcept { return tag < 0; }
inline bool bad_any_tag(int tag) noexcept { return tag < 0 && tag != MPI_ANY_TAG; }

inline bool outside(int rank, int count) noexcept {
  return static_cast<unsigned>(rank) >= static_cast<unsigned>(count);
}
inline bool bad_dest(int rank, const core::Communicator& comm) noexcept {
  return outside(rank, comm.peer_count()) && rank != MPI_PROC_NULL;
}
inline bool bad_source(int rank, const core::Communicator& comm) noexcept {
  return outside(rank, comm.peer_count()) && rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE;
}
inline bool bad_rank(int rank, const core::Communicator& comm) noexcept {
  return outside(rank, comm.size());
}
inline bool bad_root(int root, const core::Communicator& comm) noexcept {
  return outside(root, comm.peer_count()) &&
         !(comm.inter() && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

/// Roles tells which arguments of a rooted collective are significant at this rank: the root's, the
/// leaves', or all participants' (part). On an inter-communicator only the root of the root's group
/// takes part.
struct Roles {
  bool root, leaf, part;
  Roles(int rank, const core::Communicator& comm) noexcept
      : root(comm.inter() ? rank == MPI_ROOT : rank == comm.rank()),
        leaf(comm.inter() ? rank >= 0 : true),
        part(root || leaf) {}
};

/// Rank 0 of an exclusive scan out of place has no significant receive buffer.
inline bool counts_after_first(const core::Communicator& comm, const void* sendbuf) noexcept {
  return comm.rank() != 0 || sendbuf == MPI_IN_PLACE;
}

/// MPI_BYTE replaces a datatype not significant at this rank or with MPI_IN_PLACE.
inline core::Datatype* ignored_type(const Call& call) noexcept {
  return call.find<core::Datatype>(MPI_BYTE);
}

/// MPI_SUM replaces an operation not significant at this rank.
inline core::Op* ignored_op(const Call& call) noexcept { return call.find<core::Op>(MPI_SUM); }

inline int peers(const core::Communicator& comm) noexcept { return comm.peer_count(); }
inline int members(const core::Communicator& comm) noexcept { return comm.size(); }
// Without a topology the degrees are 0, and the body reports the error.
inline int indegree(const core::Communicator& comm) noexcept {
  return comm.topology == nullptr ? 0 : static_cast<int>(comm.topology->sources().size());
}
inline int outdegree(const core::Communicator& comm) noexcept {
  return comm.topology == nullptr ? 0 : static_cast<int>(comm.topology->destinations().size());
}

/// A rank without neighbours on one side needs no buffer for this side.
inline bool may_have_neighbors(const core::Communicator& comm,
                               int degree(const core::Communicator&)) noexcept {
  return comm.topology == nullptr || degree(comm) > 0;
}

/// A buffer address in the first page, never mapped, is legal as MPI_BOTTOM (null) with a datatype
/// of absolute addresses on the host or on a single device, or with a type of size 0.
TERN_COLD bool legal_low_address(const void* buffer, MPI_Count count,
                                 const core::Datatype& type) noexcept;
inline bool bad_buffer(const void* buffer, MPI_Count count, const core::Datatype& type) noexcept {
  constexpr uintptr_t kFirstPage = 4096;
  return TERN_UNLIKELY(reinterpret_cast<uintptr_t>(buffer) < kFirstPage) && count > 0 &&
         !legal_low_address(buffer, count, type);
}

/// MPI_REPLACE and MPI_NO_OP are only for one-sided communication.
inline bool bad_reduction(const core::Op& op) noexcept {
  return op.handle() == reinterpret_cast<uintptr_t>(MPI_REPLACE) ||
         op.handle() == reinterpret_cast<uintptr_t>(MPI_NO_OP);
}

// null_argument() and the others call fail() for the parameter `what` and return the error class.
[[nodiscard]] TERN_COLD int null_argument(const char* what) noexcept;
[[nodiscard]] TERN_COLD int no_status(const char* what) noexcept;
[[nodiscard]] TERN_COLD int explain_count(const char* what, MPI_Count value) noexcept;
[[nodiscard]] TERN_COLD int explain_bytes(const char* what, MPI_Count value) noexcept;
[[nodiscard]] TERN_COLD int explain_tag(const char* what, int tag) noexcept;
[[nodiscard]] TERN_COLD int explain_rank(const Call& call, const char* what, int rank) noexcept;
[[nodiscard]] TERN_COLD int explain_root(const Call& call, const char* what, int root) noexcept;
[[nodiscard]] TERN_COLD int explain_op(const char* what, const core::Op& op) noexcept;
[[nodiscard]] TERN_COLD int explain_buffer(const char* what, const void* buffer, MPI_Count count,
                                           const core::Datatype& type) noexcept;
[[nodiscard]] TERN_COLD int not_committed(const char* what, const core::Datatype& type) noexcept;

}  // namespace tern::abi

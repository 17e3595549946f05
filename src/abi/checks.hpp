// SPDX-License-Identifier: Apache-2.0
// The argument checks of the entry points: what is cheap inline, what is said when one fails out of
// line.
// Why: a wrong argument is named with its value where it enters, and a right one costs a compare.
// Cost: all checks of an MPI_Send together at most 3 ns (tests/mpi/abi_cost.sh measures it).
// See: src/abi/emit_entry.py (which check goes with which kind), MPI-5.0 section 9.3.
#pragma once

#include "abi/entry.hpp"
#include "core/topology.hpp"

namespace tern::abi {

// MPI_TAG_UB is the largest int: only negative tags are wrong.
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

/// Which arguments of a rooted collective count at this rank: the root's own, those of all others
/// (leaf), any (part): beside the root of its group of an inter-communicator none does.
struct Roles {
  bool root, leaf, part;
  Roles(int rank, const core::Communicator& comm) noexcept
      : root(comm.inter() ? rank == MPI_ROOT : rank == comm.rank()),
        leaf(comm.inter() ? rank >= 0 : true),
        part(root || leaf) {}
};

/// Rank 0 of an exclusive scan has no result.
inline bool counts_after_first(const core::Communicator& comm, const void* sendbuf) noexcept {
  return comm.rank() != 0 || sendbuf == MPI_IN_PLACE;
}

/// Stands for a datatype that does not count at this rank or with MPI_IN_PLACE: MPI_BYTE.
inline core::Datatype* ignored_type(const Call& call) noexcept {
  return call.find<core::Datatype>(MPI_BYTE);
}

/// Likewise for an operation.
inline core::Op* ignored_op(const Call& call) noexcept { return call.find<core::Op>(MPI_SUM); }

// Lengths of arrays with one element per process.
inline int peers(const core::Communicator& comm) noexcept { return comm.peer_count(); }
inline int members(const core::Communicator& comm) noexcept { return comm.size(); }
// Neighbours; none where there is no topology, which the body refuses.
inline int indegree(const core::Communicator& comm) noexcept {
  return comm.topology == nullptr ? 0 : static_cast<int>(comm.topology->sources().size());
}
inline int outdegree(const core::Communicator& comm) noexcept {
  return comm.topology == nullptr ? 0 : static_cast<int>(comm.topology->destinations().size());
}

/// Who has none on a side needs no buffer there.
inline bool may_have_neighbors(const core::Communicator& comm,
                               int degree(const core::Communicator&)) noexcept {
  return comm.topology == nullptr || degree(comm) > 0;
}

/// Null is MPI_BOTTOM: legal with a datatype made of addresses, of the host or of one device, or
/// without data. The first page never is data.
TERN_COLD bool legal_low_address(const void* buffer, MPI_Count count,
                                 const core::Datatype& type) noexcept;
inline bool bad_buffer(const void* buffer, MPI_Count count, const core::Datatype& type) noexcept {
  constexpr uintptr_t kFirstPage = 4096;
  return TERN_UNLIKELY(reinterpret_cast<uintptr_t>(buffer) < kFirstPage) && count > 0 &&
         !legal_low_address(buffer, count, type);
}

/// MPI_REPLACE and MPI_NO_OP are for one-sided communication only.
inline bool bad_reduction(const core::Op& op) noexcept {
  return op.handle() == reinterpret_cast<uintptr_t>(MPI_REPLACE) ||
         op.handle() == reinterpret_cast<uintptr_t>(MPI_NO_OP);
}

// What is said: `what` is the parameter's name.
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

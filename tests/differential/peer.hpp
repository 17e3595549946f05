// SPDX-License-Identifier: Apache-2.0
// Faults of the other libraries that are so frequent that the programs go around them.
#pragma once

#include <mpi.h>

namespace peer {

#if defined(MPICH_VERSION)
constexpr bool kMpich = true;
#else
constexpr bool kMpich = false;
#endif
#if defined(OPEN_MPI)
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

// MPICH 5.0.2 leaves the status of MPI_Isendrecv and MPI_Isendrecv_replace as it was.
constexpr bool kNoStatusOfIsendrecv = kMpich;

// MPICH 5.0.2 counts elements of structs wrong, or ends in an assertion (MPI-5.0, 3.2.5).
constexpr bool kNoElementsOfStructs = kMpich;
// MPICH 5.0.2 waits for ever in MPI_Waitsome and MPI_Waitany where persistent collectives are all
// inactive (MPI-5.0, 3.7.5: then they return MPI_UNDEFINED).
constexpr bool kWaitsForInactive = kMpich;

// MPICH 5.0.2 goes on using the schedule of a persistent collective after MPI_Request_free of its
// inactive request, and crashes or waits for ever later (valgrind shows it; MPI-5.0, 6.13 and 3.9
// allow the call). So its persistent collectives are nonblocking ones, anew in each round.
constexpr bool kNoPersistentCollectives = kMpich;
// MPICH 5.0.2 makes room for the true extents of items alone in MPI_Reduce_scatter and its like,
// where the extent is greater, and the user's function is given what lies behind (valgrind shows
// it; MPI-5.0, 6.9.5).
constexpr bool kTooLittleRoom = kMpich;
// MPICH 5.0.2 does not refuse a negative count of MPI_Allreduce, and writes over its memory.
constexpr bool kTakesNegativeCounts = kMpich;
// MPICH 5.0.2 ends with SIGILL for external32 of MPI_AINT, MPI_OFFSET and MPI_COUNT, and of structs
// (MPI-5.0, 14.5.2).
constexpr bool kLittleExternal = kMpich;

}  // namespace peer

// SPDX-License-Identifier: Apache-2.0
// Frequent faults of MPICH and Open MPI. Programs avoid the faults and skip the comparison.
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

// MPICH 5.0.2: MPI_Isendrecv and MPI_Isendrecv_replace leave the status of the receive unset
// (MPI-5.0, 3.10).
constexpr bool kNoStatusOfIsendrecv = kMpich;
// MPICH 5.0.2: MPI_Get_elements counts elements of structs wrong, or asserts (MPI-5.0, 5.1.11).
constexpr bool kNoElementsOfStructs = kMpich;
// MPICH 5.0.2: MPI_Waitsome and MPI_Waitany hang if all requests are inactive persistent
// collectives (MPI-5.0, 3.7.5: MPI_UNDEFINED).
constexpr bool kWaitsForInactive = kMpich;
// MPICH 5.0.2: MPI_Request_free of an inactive persistent collective frees a schedule still in a
// list, as valgrind shows; later calls crash or hang (MPI-5.0, 6.13). Programs use nonblocking
// calls instead.
constexpr bool kNoPersistentCollectives = kMpich;
// MPICH 5.0.2: MPI_Reduce_scatter and MPI_Reduce_scatter_block allocate the true extent per item
// instead of the extent, as valgrind shows: user functions get memory out of bounds
// (MPI-5.0, 6.9.5).
constexpr bool kTooLittleRoom = kMpich;
// MPICH 5.0.2: MPI_Allreduce with a negative count overwrites memory (MPI-5.0, 9.3 allows this).
constexpr bool kTakesNegativeCounts = kMpich;
// MPICH 5.0.2: SIGILL in MPI_Pack_external_size for MPI_AINT, MPI_OFFSET, MPI_COUNT and structs
// (MPI-5.0, 14.5.2).
constexpr bool kLittleExternal = kMpich;
// MPICH 5.0.2: MPI_ERR_TYPE, or other data, for a large message of pairs or of several types, with
// different layouts (MPI-5.0, 3.3.1: equal signatures match). Such messages are smaller.
constexpr bool kSmallMixtures = kMpich;
// Open MPI 5.0.11: MPI_Accumulate and variants ignore logical and bitwise operations, or clear the
// target; MPI_MIN and MPI_MAX compare unsigned numbers as signed (MPI-5.0, 12.3.4 and 6.9.2). Sums
// of 8 and 16 bits saturate; MPI defines no overflow.
constexpr bool kFewAccumulates = kOpenMpi;
// Open MPI 5.0.11: MPI_MIN and MPI_MAX compare MPI_AINT, MPI_OFFSET and MPI_COUNT without sign
// (MPI-5.0, 6.9.2).
constexpr bool kAddressesWithoutSign = kOpenMpi;
// Open MPI 5.0.11: truncation of a large message overwrites memory (MPI-5.0, 3.2.4).
constexpr bool kNoLargeTruncation = kOpenMpi;
// Open MPI 5.0.11: partitioned messages hang with more than two ranks; with two, MPI_Parrived may
// report a partition early (MPI-5.0, 4.2).
constexpr bool kNoPartitions = kOpenMpi;
// MPICH 5.0.2: an assertion fails. Open MPI 5.0.11: MPI_LONG, MPI_UNSIGNED_LONG and MPI_WCHAR keep
// their size in external32 (MPI-5.0, 14.5.2: 4, 4 and 2 bytes).
constexpr bool kLongExternal = kOpenMpi || kMpich;
// Open MPI 5.0.11: a wrong attribute key is MPI_ERR_OTHER (MPI-5.0, 9.4: MPI_ERR_KEYVAL).
constexpr bool kOtherForKeys = kOpenMpi;
// Open MPI 5.0.11: types with backward strides take wrong elements (MPI-5.0, 5.1.2).
constexpr bool kNoBackwardStrides = kOpenMpi;
// Open MPI 5.0.11: MPI_Alltoallw of one rank moves nothing (MPI-5.0, 6.8).
constexpr bool kNoAlltoallwAlone = kOpenMpi;

}  // namespace peer

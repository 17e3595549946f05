// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL in tests on the software driver, by Tern's enqueued calls. The figures mean
// nothing. STAND_IN_VERSION is the reported version (23007).
#include <mpi.h>
#include <mpix.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Stream = void*;
struct Comm {
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
};
thread_local std::vector<MPI_Request> group;

MPI_Comm of(void* communicator, Stream stream) {
  Comm& comm = *static_cast<Comm*>(communicator);
  if (comm.comm != MPI_COMM_NULL) return comm.comm;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
  MPIX_Stream_create(info, &comm.stream);
  MPI_Info_free(&info);
  MPIX_Stream_comm_create(MPI_COMM_WORLD, comm.stream, &comm.comm);
  return comm.comm;
}
int n(size_t count) { return static_cast<int>(count); }

}  // namespace

extern "C" {
struct ncclId {
  char bytes[128];
};
int ncclGetVersion(int* version) {
  const char* const asked = std::getenv("STAND_IN_VERSION");
  *version = asked == nullptr ? 23007 : std::atoi(asked);
  return 0;
}
int ncclGetUniqueId(ncclId* id) {
  std::memset(id, 0, sizeof *id);
  return 0;
}
int ncclCommInitRank(void** comm, int, ncclId, int) {
  *comm = new Comm;
  return 0;
}
int ncclCommDestroy(void* communicator) {
  Comm* const comm = static_cast<Comm*>(communicator);
  if (comm->comm != MPI_COMM_NULL) MPI_Comm_free(&comm->comm);
  if (comm->stream != MPIX_STREAM_NULL) MPIX_Stream_free(&comm->stream);
  delete comm;
  return 0;
}
int ncclAllReduce(const void* from, void* to, size_t count, int, int, void* comm, Stream stream) {
  return MPIX_Allreduce_enqueue(from, to, n(count), MPI_FLOAT, MPI_SUM, of(comm, stream));
}
int ncclAllGather(const void* from, void* to, size_t count, int, void* comm, Stream stream) {
  return MPIX_Allgather_enqueue(from, n(count), MPI_FLOAT, to, n(count), MPI_FLOAT,
                                of(comm, stream));
}
int ncclReduceScatter(const void* from, void* to, size_t count, int, int, void* comm,
                      Stream stream) {
  return MPIX_Reduce_scatter_block_enqueue(from, to, n(count), MPI_FLOAT, MPI_SUM,
                                           of(comm, stream));
}
int ncclBroadcast(const void*, void* to, size_t count, int, int root, void* comm, Stream stream) {
  return MPIX_Bcast_enqueue(to, n(count), MPI_FLOAT, root, of(comm, stream));
}
int ncclGroupStart() { return 0; }
int ncclSend(const void* from, size_t count, int, int peer, void* comm, Stream stream) {
  return MPIX_Isend_enqueue(from, n(count), MPI_FLOAT, peer, 0, of(comm, stream),
                            &group.emplace_back());
}
int ncclRecv(void* to, size_t count, int, int peer, void* comm, Stream stream) {
  return MPIX_Irecv_enqueue(to, n(count), MPI_FLOAT, peer, 0, of(comm, stream),
                            &group.emplace_back());
}
int ncclGroupEnd() {
  const int code = MPIX_Waitall_enqueue(n(group.size()), group.data(), MPI_STATUSES_IGNORE);
  group.clear();
  return code;
}
}

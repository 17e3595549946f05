// SPDX-License-Identifier: Apache-2.0
// With fault tolerance, a stream that waits for a dead rank ends within seconds, a later call on
// the communicator fails, and the survivors go on with a stream of a shrunk communicator.
// ranks: 2 3
// configurations: 1 4-peers
// env: TERN_FT=1
// timeout: 30
// expect-stderr: The job goes on
// sanitizers: no, a process is killed
// variant: receive
//   env: TERN_FT=1 WAY=receive
// variant: small
//   env: TERN_FT=1 WAY=small
// variant: alltoall
//   env: TERN_FT=1 WAY=alltoall
// variant: kernel
//   configurations: 4-peers mps
//   env: TERN_FT=1 TERN_GPU_ENGINE=kernel
// variant: kernel_small
//   configurations: 4-peers mps
//   env: TERN_FT=1 TERN_GPU_ENGINE=kernel WAY=small
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "stream.hpp"

using namespace tern::test;

namespace {

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int enqueue(const char* way, const Vector<int>& data, MPI_Comm comm) {
  const int last = size - 1;
  int* const at = data.on_device();
  if (strcmp(way, "receive") == 0)
    return MPIX_Recv_enqueue(at, 1000, MPI_INT, last, 1, comm, MPI_STATUS_IGNORE);
  if (strcmp(way, "alltoall") == 0)
    return MPIX_Alltoall_enqueue(at, 1000, MPI_INT, at + 50000, 1000, MPI_INT, comm);
  return MPIX_Allreduce_enqueue(MPI_IN_PLACE, at, strcmp(way, "small") == 0 ? 10 : 100000, MPI_INT,
                                MPI_SUM, comm);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const given = std::getenv("WAY");
  const char* const way = given != nullptr ? given : "large";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  start_cuda();
  OnStream* const on = new OnStream;
  MPI_Comm_set_errhandler(on->comm, MPI_ERRORS_RETURN);
  Vector<int> data(100000);
  check_allreduce(*on, 1000);
  check_allreduce(*on, 100000);
  // The kernels of the software driver poll. Their processor time does not grow beside other jobs.
  constexpr double kMost = 10;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) std::raise(SIGKILL);
  const double start = processor_seconds();
  int code = enqueue(way, data, on->comm);
  const CUresult waited = cuStreamSynchronize(on->queue);
  const double took = processor_seconds() - start;
  if (took > kMost) FAIL("%s: the stream polls for %.2f s", way, took);
  if (waited != CUDA_SUCCESS) FAIL("%s: the stream gives %d", way, static_cast<int>(waited));
  // The failure is known by now.
  if (code == MPI_SUCCESS) code = enqueue(way, data, on->comm);
  cuStreamSynchronize(on->queue);
  if (class_of(code) != MPIX_ERR_PROC_FAILED && class_of(code) != MPIX_ERR_REVOKED)
    FAIL("%s: the call after the death gives class %d: %s", way, class_of(code), error_text(code));
  OK(MPIX_Comm_revoke(MPI_COMM_WORLD));
  MPI_Comm survivors = MPI_COMM_NULL;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors));
  int living = 0;
  OK(MPI_Comm_size(survivors, &living));
  if (living != size - 1) FAIL("%d living ranks", living);
  size = living;
  {
    const OnStream again(survivors);
    check_allreduce(again, 1000);
    check_allreduce(again, 100000);
  }
  OK(MPI_Comm_free(&survivors));
  delete on;
  OK(MPI_Finalize());
  return 0;
}

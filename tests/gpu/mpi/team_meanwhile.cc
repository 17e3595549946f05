// SPDX-License-Identifier: Apache-2.0
// A communicator's first device collective completes while the device waits for another rank. A
// valid call returns its result before any next call. Different counts, or a kernel program absent
// from one device, are an immediate error on both ranks.
// ranks: 2
// configurations: 4-peers mps
// queues: many, another library's wait heads the only queue, before the collective's copies
// alone: yes
// timeout: 60
#include "faults.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

MPI_Comm duplicate() {
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return made;
}

int sum(MPI_Comm comm, const Area& area, int count) {
  return MPI_Allreduce(MPI_IN_PLACE, area.address(), count, MPI_INT, MPI_SUM, comm);
}

void settle(MPI_Comm comm, const Area& area) {
  for (int i = 0; i < 3; ++i) OK(sum(comm, area, 100));
}

void beside_pending_stream(const Area& area) {
  now("a first collective beside a waiting stream", 20);
  MPI_Comm comm = duplicate();
  const Area word = plain(sizeof(uint32_t));
  CUstream waits = nullptr, opens = nullptr;
  CU(cuMemsetD32_v2(word.at, 0, 1));
  CU(cuCtxSynchronize());
  CU(cuStreamCreate(&waits, CU_STREAM_DEFAULT));
  CU(cuStreamCreate(&opens, CU_STREAM_NON_BLOCKING));
  CU(cuStreamWaitValue32_v2(waits, word.at, 1, CU_STREAM_WAIT_VALUE_GEQ));
  for (const int count : {100, 10000, 200000}) OK(sum(comm, area, count));
  OK(MPI_Barrier(comm));
  CU(cuStreamWriteValue32_v2(opens, word.at, 1, 0));
  CU(cuStreamSynchronize(waits));
  for (int i = 0; i < 300; ++i) OK(sum(comm, area, 100));
  CU(cuStreamDestroy_v2(waits));
  CU(cuStreamDestroy_v2(opens));
  OK(MPI_Comm_free(&comm));
}

void beside_enqueued(const Area& area) {
  now("a first collective beside an enqueued operation", 20);
  MPI_Comm comm = duplicate();
  const OnStream on;
  Vector<int> data(1000);
  for (int i = 0; i < 3; ++i)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 1000, MPI_INT, MPI_MAX, on.comm));
  on.sync();
  if (rank == 0)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 1000, MPI_INT, MPI_MAX, on.comm));
  OK(sum(comm, area, 100));
  if (rank == 1)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 1000, MPI_INT, MPI_MAX, on.comm));
  on.sync();
  OK(MPI_Comm_free(&comm));
}

/// One rank may refuse the next call before the peer has this call's result.
void before_refused(const Area& area) {
  now("a collective before a refused call", 20);
  for (int round = 0; round < 20; ++round) {
    MPI_Comm comm = duplicate();
    settle(comm, area);
    OK(MPI_Bcast(area.address(), 100000, MPI_BYTE, 1, comm));
    CHECK(MPI_Bcast(area.address(), -1, MPI_BYTE, 1, comm) != MPI_SUCCESS);
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
  }
}

void unlike_counts(const Area& area) {
  now("different counts", 20);
  for (const int count : {100, 3000}) {
    MPI_Comm comm = duplicate();
    settle(comm, area);
    const int code = sum(comm, area, count + 4 * rank);
    if (class_of(code) != MPI_ERR_TRUNCATE)
      FAIL("different counts, of %d: %s", count, error_text(code));
    OK(MPI_Comm_free(&comm));
  }
}

void without_program(const Area& area) {
  if (!control().there()) return;
  now("a program missing on the device", 20);
  MPI_Comm comm = duplicate();
  settle(comm, area);
  if (rank == 1) control().fault("cuMemcpyAsync:1:2");
  const int code = MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, area.address(), 100000, MPI_INT, comm);
  control().fault("");
  int worst = 0;
  OK(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (worst != MPI_SUCCESS && code == MPI_SUCCESS) CHECK(MPI_Barrier(comm) != MPI_SUCCESS);
  if (worst != MPI_SUCCESS && code != MPI_SUCCESS) (void)MPI_Barrier(comm);
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  end_with_words();
  start_cuda();
  {
    const Area area = plain(4 << 20);
    settle(MPI_COMM_WORLD, area);
    beside_pending_stream(area);
    if (devices > 1) beside_enqueued(area);
    before_refused(area);
    unlike_counts(area);
    without_program(area);
  }
  return end();
}

// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives by waiting kernels, without the host: the report names a late rank, a
// refusing rank releases the other kernels, and an error names an absent rank.
// ranks: 2 3 4
// configurations: 4-peers weak mps
// env: TERN_GPU_ENGINE=kernel
// variant: lines
//   LL128 requested: same waits, same reports. Over PCIe, where lines tear, no rank uses LL128.
//   configurations: 4-peers weak pcie mps
//   env: TERN_GPU_ENGINE=kernel TERN_GPU_WIRE=ll128
// variant: multicast
//   Multimem: one launch per call, same reports.
//   configurations: 4-peers
//   env: TERN_GPU_ENGINE=kernel TERN_GPU_WIRE=multimem
#include <string>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

void nothing() {}

template <class Meanwhile = void (*)()>
void allreduce(const OnStream& on, int count, const char* what,
               const Meanwhile& meanwhile = nothing) {
  const auto n = static_cast<size_t>(count);
  Vector<int> send(n), recv(n);
  for (size_t i = 0; i < n; ++i) send[i] = rank * 1000 + static_cast<int>(i % 997);
  send.put(on.queue);
  OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), count, MPI_INT, MPI_SUM, on.comm));
  recv.get(on.queue);
  meanwhile();
  on.sync();
  for (size_t i = 0; i < n; ++i) {
    const int sum = size * (size - 1) / 2 * 1000 + size * static_cast<int>(i % 997);
    if (recv[i] != sum) FAIL("%s: element %zu is %d, expected %d", what, i, recv[i], sum);
  }
}

void one_launch(const OnStream& on) {
  for (const int count : {1, 1000, 40001, 100003}) {
    allreduce(on, count, "the first");
    const auto launches = control().calls("cuLaunchKernel");
    const auto batches = control().calls("cuStreamBatchMemOp_v2");
    allreduce(on, count, "the second");
    if (!control().there()) continue;
    CHECK_EQ(control().calls("cuLaunchKernel"), launches + 1);
    CHECK_EQ(control().calls("cuStreamBatchMemOp_v2"), batches);
  }
}

void late_rank(const OnStream& on) {
  const Heard heard;
  const bool late = rank == size - 1;
  if (late) OK(MPI_Barrier(MPI_COMM_WORLD));
  allreduce(on, 50, "a late allreduce", [&] {
    if (rank == 0 && !heard.will_have("by a kernel", 20)) FAIL("the late rank is not reported");
    if (!late) OK(MPI_Barrier(MPI_COMM_WORLD));
  });
}

void refused_by_one() {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  allreduce(on, 10, "before a refusal");
  Vector<int> data(4);
  const bool wrong = rank == size - 1;
  if (wrong) OK(MPI_Barrier(MPI_COMM_WORLD));  // refuses after the other calls
  const int code = MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), wrong ? -1 : 4, MPI_INT,
                                          MPI_SUM, on.comm);
  CHECK_EQ(class_of(code), wrong ? MPI_ERR_COUNT : MPI_SUCCESS);
  if (!wrong) OK(MPI_Barrier(MPI_COMM_WORLD));
  on.sync();
  if (wrong) return;
  const int next = MPIX_Barrier_enqueue(on.comm);
  CHECK_EQ(class_of(next), MPI_ERR_OTHER);
  if (std::string(error_text(next)).find("rank " + std::to_string(size - 1)) == std::string::npos)
    FAIL("unexpected error for the refusal: \"%s\"", error_text(next));
}

void rank_that_never_comes() {
  const Heard heard;
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  allreduce(on, 10, "before a rank is missing");
  Vector<int> data(4);
  if (rank == 0) {
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 4, MPI_INT, MPI_SUM, on.comm));
    on.sync();
    const int next = MPIX_Barrier_enqueue(on.comm);
    CHECK_EQ(class_of(next), MPI_ERR_OTHER);
    if (std::string(error_text(next)).find("timed out waiting for rank") == std::string::npos)
      FAIL("unexpected error for an absent rank: \"%s\"", error_text(next));
    if (!heard.will_have("undefined", 2 * kSlowness)) FAIL("the undefined data is not reported");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TERN_GPU_TIMEOUT", (std::to_string(200 * kSlowness) + "ms").c_str(), 1);
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    one_launch(on);
    late_rank(on);
  }
  refused_by_one();
  rank_that_never_comes();
  return end();
}

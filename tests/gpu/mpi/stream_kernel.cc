// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives by kernels that wait for other ranks': the host has no part in them, a rank
// that is late is named and may still come, one that refuses lets the others' kernels go, and one
// that never comes is named by an error.
// ranks: 2 3 4
// configurations: 4-peers weak mps
// env: TERN_GPU_ENGINE=kernel
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

void allreduce(const OnStream& on, int count, const char* what) {
  const auto n = static_cast<size_t>(count);
  Vector<int> send(n), recv(n);
  for (size_t i = 0; i < n; ++i) send[i] = rank * 1000 + static_cast<int>(i % 997);
  send.put(on.queue);
  OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), count, MPI_INT, MPI_SUM, on.comm));
  recv.get(on.queue);
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

// The last rank comes when the patience of the others is over, and before they give up.
void late_rank(const OnStream& on, const char* said) {
  if (rank == size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(800 * kSlowness));
  allreduce(on, 50, "a late allreduce");
  const std::string words = said_in(said);
  if (rank == 0 && words.find("by a kernel") == std::string::npos)
    FAIL("nothing was said of the late rank: \"%s\"", words.c_str());
}

void refused_by_one() {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  allreduce(on, 10, "before a refusal");
  Vector<int> data(4);
  const bool wrong = rank == size - 1;
  if (wrong) OK(MPI_Barrier(MPI_COMM_WORLD));  // it refuses when the others have made the call
  const int code = MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), wrong ? -1 : 4, MPI_INT,
                                          MPI_SUM, on.comm);
  CHECK_EQ(class_of(code), wrong ? MPI_ERR_COUNT : MPI_SUCCESS);
  if (!wrong) OK(MPI_Barrier(MPI_COMM_WORLD));
  on.sync();
  if (wrong) return;
  const int next = MPIX_Barrier_enqueue(on.comm);
  CHECK_EQ(class_of(next), MPI_ERR_OTHER);
  if (std::string(error_text(next)).find("rank " + std::to_string(size - 1)) == std::string::npos)
    FAIL("the refusal is told as \"%s\"", error_text(next));
}

// Two seconds after that the kernel gives up; its data is wrong then, and the next call says so.
void rank_that_never_comes(const char* said) {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  allreduce(on, 10, "before a rank is missing");
  Vector<int> data(4);
  if (rank == 0) {
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 4, MPI_INT, MPI_SUM, on.comm));
    on.sync();
    const int next = MPIX_Barrier_enqueue(on.comm);
    CHECK_EQ(class_of(next), MPI_ERR_OTHER);
    if (std::string(error_text(next)).find("waited in vain for rank") == std::string::npos)
      FAIL("a rank that never comes is told as \"%s\"", error_text(next));
    for (int i = 0; i < 100 && said_in(said).find("undefined") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (said_in(said).find("undefined") == std::string::npos)
      FAIL("nothing was said of wrong data");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  char said[] = "/tmp/tern_said_XXXXXX";
  const int file = mkstemp(said);
  setenv("TERN_GPU_PATIENCE", (std::to_string(200 * kSlowness) + "ms").c_str(), 1);
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    one_launch(on);
    const int kept = dup(2);
    dup2(file, 2);
    late_rank(on, said);
    dup2(kept, 2);
  }
  refused_by_one();
  const int kept = dup(2);
  dup2(file, 2);
  rank_that_never_comes(said);
  dup2(kept, 2);
  (void)unlink(said);
  return end();
}

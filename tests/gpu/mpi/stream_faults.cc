// SPDX-License-Identifier: Apache-2.0
// Each driver function of enqueued operations fails once on one rank, at the first and the second
// call, during the creation of a stream communicator and during an operation. Every call and stream
// ends, ranks agree on the communicator's existence, and a later communicator works.
// ranks: 2 4
// configurations: 1 4-peers mps 2-apart islands
// queues: many, a write in another stream ends the waits of a failed call
// timeout: 150
#include <unistd.h>

#include <memory>

#include "faults.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

int outcomes[2];
/// Without --full the test runs only every fourth fault, or every second with a single operation.
size_t every() {
  const char* const full = std::getenv("FULL");
  return full != nullptr && *full != '\0' ? 1 : size == 2 ? 4 : 2;
}
int step = 0;

struct Operation {
  const char* name;
  size_t count;
  int (*enqueue)(int* data, int count, MPI_Comm comm);
  bool adds;
};
int reduction(int* data, int count, MPI_Comm comm) {
  return MPIX_Allreduce_enqueue(MPI_IN_PLACE, data, count, MPI_INT, MPI_SUM, comm);
}
int message(int* data, int count, MPI_Comm comm) {
  const int other = rank / 2 * 2 + 1 - rank % 2;
  return rank % 2 == 0 ? MPIX_Send_enqueue(data, count, MPI_INT, other, 0, comm)
                       : MPIX_Recv_enqueue(data, count, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE);
}
const Operation kOperations[] = {
    {"a small reduction", 100, reduction, true},
    {"a reduction", 20000, reduction, true},
    {"a large reduction", 600000, reduction, true},
    {"a message", 20000, message, false},
};

/// cuStreamQuery itself may fail.
void wait_for(CUstream queue) {
  while (cuStreamQuery(queue) != CUDA_SUCCESS) usleep(100);
}

/// If only one end enqueued a message, the program must interrupt the communicator.
void interrupt_if_one_failed(int code, MPI_Comm comm) {
  int worst = 0;
  OK(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (worst != MPI_SUCCESS) OK(MPIX_Comm_interrupt(comm));
}

/// A second call reports a late error. Returns zero or this rank's first error.
int run(const Operation& operation, const OnStream& on, const std::string& fault) {
  Vector<int> data(operation.count);
  const int base = ++step * 10;
  for (size_t i = 0; i < operation.count; ++i) data[i] = base + rank + static_cast<int>(i);
  data.put(on.queue);
  on.sync();
  control().fault(fault.c_str());
  int code = operation.enqueue(data.on_device(), static_cast<int>(operation.count), on.comm);
  if (!operation.adds) interrupt_if_one_failed(code, on.comm);
  wait_for(on.queue);
  control().fault("");
  if (code == MPI_SUCCESS) code = MPIX_Barrier_enqueue(on.comm);
  data.get(on.queue);
  on.sync();
  if (code != MPI_SUCCESS) return code;
  for (size_t i = 0; i < operation.count; ++i) {
    const int first = base + static_cast<int>(i);
    const int sum = size * first + size * (size - 1) / 2;
    const int want = operation.adds ? sum : first + rank / 2 * 2;
    if (data[i] != want)
      FAIL("%s, %s: no rank reports an error, but element %zu is %d, expected %d", doing,
           operation.name, i, data[i], want);
  }
  return MPI_SUCCESS;
}

std::unique_ptr<OnStream> fresh() {
  auto on = std::make_unique<OnStream>();
  OK(MPI_Comm_set_errhandler(on->comm, MPI_ERRORS_RETURN));
  return on;
}

void while_running(const Operation& operation, const char* only) {
  auto on = fresh();
  OK(run(operation, *on, ""));
  size_t turn = 0;
  for (const int at : {0, 1})
    for (const std::string& fault : called(at, [&] { OK(run(operation, *on, "")); })) {
      if (*only == '\0' && turn++ % every() != 0) continue;
      // A failing cuCtxGetId means a lost context (context_reset.cc).
      if (fault.find(only) != 0 || fault.find("cuCtxGetId") == 0) continue;
      now(std::string(operation.name) + ", " + fault + " at rank " + std::to_string(at), 20);
      const int code = run(operation, *on, rank == at ? fault + "999" : "");
      ++outcomes[code == MPI_SUCCESS ? 0 : 1];
      on.reset();
      on = fresh();
      OK(run(operation, *on, ""));
      alarm(0);
    }
}

MPI_Comm attempt(CUstream queue, const std::string& fault) {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "type", "cudaStream_t"));
  OK(MPIX_Info_set_hex(info, "value", &queue, sizeof queue));
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPIX_Stream_create(info, &stream));
  OK(MPI_Info_free(&info));
  control().fault(fault.c_str());
  const int code = MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
  control().fault("");
  ++outcomes[code == MPI_SUCCESS ? 0 : 1];
  int worst = 0;
  OK(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if ((code == MPI_SUCCESS) != (worst == MPI_SUCCESS))
    FAIL("%s: one rank has a communicator, another has none", doing);
  if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
  OK(MPIX_Stream_free(&stream));
  return comm;
}

void while_made(const char* only) {
  CUstream queue = nullptr;
  CU(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
  size_t turn = 0;
  for (const int at : {0, 1})
    for (const std::string& fault : called(at, [&] { attempt(queue, ""); })) {
      if (fault.find(only) != 0 || fault.find("cuCtxGetId") == 0) continue;
      if (*only == '\0' && turn++ % every() != 0) continue;
      now(std::string("a communicator") + ", " + fault + " at rank " + std::to_string(at), 20);
      attempt(queue, rank == at ? fault + "999" : "");
      const auto on = fresh();
      OK(run(kOperations[0], *on, ""));
      alarm(0);
    }
  CU(cuStreamDestroy_v2(queue));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;  // real drivers do not fail on request
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  end_with_words();
  start_cuda();
  const char* const only = argc > 1 ? argv[1] : "";
  for (const Operation& operation : kOperations)
    if (size == 2 || &operation == &kOperations[1]) while_running(operation, only);
  while_made(only);
  CHECK(*only != '\0' || (outcomes[0] > 0 && outcomes[1] > 0));
  if (std::getenv("FAULT_TELLS") != nullptr)
    std::printf("[rank %d] %d succeed, %d fail\n", rank, outcomes[0], outcomes[1]);
  return end();
}

// SPDX-License-Identifier: Apache-2.0
// The program's stream waits, like another library's kernel, for an action that follows the
// messages. Sends and receives of device memory do not wait for the stream, and a concurrent
// capture stays valid. Only this program tests the driver for CUDA 12.0, hence the kernels.
// ranks: 2
// queues: many, the program's wait heads the only queue and holds up MPI's work behind it
// configurations: 1 2-apart 12.0
#include "allocators.hpp"

using namespace tern::test;

namespace {

const bool kOldest = std::getenv("SOFTCUDA_VERSION") != nullptr;  // context flags stay
constexpr size_t kEager = 65536;

/// Blocking streams are the default: the legacy stream waits for each blocking stream.
class PendingStream {
 public:
  PendingStream() : word_(plain(sizeof(uint32_t))) {
    CU(cuMemsetD32_v2(word_.at, 0, 1));
    CU(cuCtxSynchronize());
    CU(cuStreamCreate(&waits_, CU_STREAM_DEFAULT));
    CU(cuStreamCreate(&opens_, CU_STREAM_NON_BLOCKING));
    CU(cuStreamWaitValue32_v2(waits_, word_.at, 1, CU_STREAM_WAIT_VALUE_GEQ));
  }
  PendingStream(const PendingStream&) = delete;
  PendingStream& operator=(const PendingStream&) = delete;
  ~PendingStream() {
    end();
    CU(cuStreamDestroy_v2(waits_));
    CU(cuStreamDestroy_v2(opens_));
  }
  void end() {
    CU(cuStreamWriteValue32_v2(opens_, word_.at, 1, 0));
    CU(cuStreamSynchronize(waits_));
  }

 private:
  Area word_;
  CUstream waits_ = nullptr, opens_ = nullptr;
};

Area make(const Allocator& by, size_t bytes) {
  Area memory = by.make(bytes);
  memory.put(bytes_of(bytes, rank + 1u));
  CU(cuCtxSynchronize());
  return memory;
}

void check(const Allocator& by, const Area& memory, size_t bytes) {
  CU(cuCtxSynchronize());
  if (memory.get(bytes) != bytes_of(bytes, 1)) FAIL("%s: %zu bytes are wrong", by.name, bytes);
}

void message(const Allocator& by, size_t bytes) {
  const Area memory = make(by, bytes);
  const int count = static_cast<int>(bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  PendingStream pending;
  if (rank == 0) {
    OK(MPI_Send(memory.address(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Recv(memory.address(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
  }
  pending.end();
  check(by, memory, bytes);
}

// The driver for CUDA 12.0 shows complete writes to pools and mappings only by the end of the
// legacy stream. Nonblocking calls return at once and complete with the stream.
void begun(const Allocator& by, size_t bytes) {
  const Area memory = make(by, bytes);
  const int count = static_cast<int>(bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request request = MPI_REQUEST_NULL;
  PendingStream pending;
  if (rank == 0)
    OK(MPI_Isend(memory.address(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request));
  else
    OK(MPI_Irecv(memory.address(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
  int done = 0;
  for (int i = 0; i < 10; ++i) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  pending.end();
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check(by, memory, bytes);
}

void arrives_in_a_barrier(const Allocator& by, size_t bytes) {
  const Area memory = make(by, bytes);
  const int count = static_cast<int>(bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    OK(MPI_Isend(memory.address(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request));
    int done = 0;
    for (int i = 0; i < 2000 && done == 0; ++i) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    PendingStream pending;
    OK(MPI_Irecv(memory.address(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    pending.end();
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  check(by, memory, bytes);
}

void capture_goes_on() {
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  const size_t bytes = 1 << 20;
  const int count = static_cast<int>(bytes);
  std::vector<Area> memory;
  for (const Allocator& by : kAllocators) memory.push_back(make(by, bytes));
  const Area aside = plain(64);
  CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU(cuMemsetD8Async(aside.at, 7, 64, stream));
  for (const Area& area : memory)
    for (const int some : {64, count}) {
      if (rank == 0)
        OK(MPI_Send(area.address(), some, MPI_BYTE, 1, 2, MPI_COMM_WORLD));
      else
        OK(MPI_Recv(area.address(), some, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  CUgraph graph = nullptr;
  CU(cuStreamEndCapture(stream, &graph));
  CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy_v2(stream));
  for (size_t i = 0; i < memory.size(); ++i) check(kAllocators[i], memory[i], bytes);
}

void warm_up() {
  for (const Allocator& by : kAllocators) {
    const Area memory = make(by, 64);
    const Area in = by.make(64);
    OK(MPI_Sendrecv(memory.address(), 64, MPI_BYTE, 1 - rank, 0, in.address(), 64, MPI_BYTE,
                    1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

void sum() {
  constexpr int kInts = 1 << 18;
  std::vector<int> values(kInts, rank + 1);
  const Area in = plain(kInts * sizeof(int)), out = plain(kInts * sizeof(int));
  in.put(values.data(), kInts * sizeof(int));
  CU(cuCtxSynchronize());
  OK(MPI_Allreduce(in.address(), out.address(), kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  out.get(values.data(), kInts * sizeof(int));
  for (const int value : values) CHECK_EQ(value, size * (size + 1) / 2);
  if (control().there() && control().calls("cuLaunchKernel") == 0) FAIL("%s", "no kernel ran");
}

bool can_be_made_synchronous(const Allocator& by) {
  const std::string name = by.name;
  return name == "cudaMalloc" || name == "managed";
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  capture_goes_on();
  warm_up();
  for (const Allocator& by : kAllocators)
    for (const size_t bytes : {size_t{64}, size_t{100000}, size_t{3 << 20}}) {
      const bool in_time = can_be_made_synchronous(by) || !kOldest;
      if (in_time) message(by, bytes);
      if (in_time || bytes > kEager) begun(by, bytes);
      if (bytes > kEager) arrives_in_a_barrier(by, bytes);
    }
  sum();
  return end();
}

// SPDX-License-Identifier: Apache-2.0
// Driver calls of each enqueued operation: a kernel collective launches once; for copies, semaphore
// operations and kernels of the stream engine the number grows with the data.
// ranks: 3
// configurations: 4-peers
// env: TERN_TEST=gpu_multicast=off
// sanitizers: no
// timeout: 90
// variant: stream
//   64 MiB by copies and semaphore operations.
//   env: TERN_TEST=gpu_multicast=off TERN_GPU_ENGINE=stream TERN_COLL=allreduce=ring
// variant: kernel
//   64 MiB by one kernel.
//   env: TERN_TEST=gpu_multicast=off TERN_GPU_ENGINE=kernel
#include "ledger.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

/// One kernel needs the memory types, the context, the capture state, the launch, a completion
/// semaphore, and an event for the stream order. Tern may also query memory of earlier messages.
const std::vector<Expected> kOneKernel = {
    {"cuPointerGetAttributes", kAny, true},
    {"cuCtxGetCurrent", 1},
    {"cuThreadExchangeStreamCaptureMode", 2},
    {"cuStreamGetCaptureInfo_v2", 1},
    {"cuLaunchKernel", 1},
    {"cuStreamWriteValue32_v2", 1},
    {"cuEventRecord", 1},
};

MPI_Comm with_wire(const char* wire) {
  MPI_Info info;
  MPI_Comm comm;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "tern_gpu_wire", wire));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Info_free(&info));
  return comm;
}

void allreduce_by(const char* wire, int floats) {
  MPI_Comm parent = with_wire(wire);
  {
    const OnStream on(parent);
    const Area in = plain(size_t{4} << 20), out = plain(size_t{4} << 20);
    expect_calls((std::string("an allreduce by ") + wire).c_str(), kOneKernel, [&] {
      OK(MPIX_Allreduce_enqueue(in.address(), out.address(), floats, MPI_FLOAT, MPI_SUM, on.comm));
    });
    on.sync();
  }
  OK(MPI_Comm_free(&parent));
}

struct Work {
  long long calls = 0, copies = 0, kernels = 0, waits = 0;
};

Work counted() {
  Work now;
  for (const char* kind : {"copy", "launch", "operation", "event"})
    now.calls += static_cast<long long>(control().calls_of_kind(kind));
  now.copies = static_cast<long long>(control().starts("copies"));
  now.kernels = static_cast<long long>(control().starts("kernels"));
  now.waits = static_cast<long long>(control().starts("waits"));
  return now;
}

Work modelled() {
  const std::string command =
      "tern_coll simulate allreduce ring --bytes=64m --topology=dgx-h100 --engine=stream --ranks=" +
      std::to_string(size);
  FILE* const tool = popen(command.c_str(), "r");
  if (tool == nullptr) FAIL("cannot run %s", command.c_str());
  Work told;
  for (char line[512]; std::fgets(line, sizeof line, tool) != nullptr;) {
    (void)std::sscanf(line, "driver modelled: %lld calls", &told.calls);
    (void)std::sscanf(line, " modelled: %lld copies, %lld kernels, %lld waits", &told.copies,
                      &told.kernels, &told.waits);
  }
  if (pclose(tool) != 0) FAIL("%s failed", command.c_str());
  return told;
}

constexpr int kLarge = 16 << 20;

template <class Call>
void large_allreduce(Call&& check) {
  const OnStream on;
  const Area in = plain(size_t{kLarge} * 4), out = plain(size_t{kLarge} * 4);
  const auto sum = [&] {
    OK(MPIX_Allreduce_enqueue(in.address(), out.address(), kLarge, MPI_FLOAT, MPI_SUM, on.comm));
  };
  sum();
  on.sync();
  check(sum);
  on.sync();
}

/// The counts equal tern_coll's for the busiest rank.
void large_by_stream() {
  large_allreduce([](auto&& sum) {
    const Work before = counted();
    sum();
    const Work after = counted();
    const long long mine[] = {after.calls - before.calls, after.copies - before.copies,
                              after.kernels - before.kernels, after.waits - before.waits};
    long long most[4] = {};
    OK(MPI_Allreduce(mine, most, 4, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD));
    if (rank != 0) return;
    const Work told = modelled();
    if (most[0] != told.calls || most[1] != told.copies || most[2] != told.kernels ||
        most[3] != told.waits)
      FAIL(
          "64 MiB by the stream engine: %lld calls, %lld copies, %lld kernels, %lld waits; "
          "tern_coll tells %lld, %lld, %lld, %lld",
          most[0], most[1], most[2], most[3], told.calls, told.copies, told.kernels, told.waits);
  });
}

void large_by_kernel() {
  large_allreduce([](auto&& sum) {
    const Ledger ledger;
    sum();
    check_calls("64 MiB by one kernel", ledger, 1, kOneKernel);
  });
}

void alltoallv() {
  const OnStream on;
  const Area in = plain(size_t{4} << 20), out = plain(size_t{4} << 20);
  std::vector<int> sends, receives, places;
  for (int i = 0; i < size; ++i) {
    sends.push_back(1000 * (rank + i));
    receives.push_back(1000 * (rank + i));
    places.push_back(100000 * i);
  }
  std::vector<Expected> expected = kOneKernel;
  expected.push_back({"cuStreamSynchronize", 1});
  expect_calls("an alltoallv", expected, [&] {
    OK(MPIX_Alltoallv_enqueue(in.address(), sends.data(), places.data(), MPI_INT, out.address(),
                              receives.data(), places.data(), MPI_INT, on.comm));
    on.sync();
  });
}

/// Messages pass through pinned memory, 1 MiB per pass, with a copy and a batch of semaphore
/// operations each.
void messages(int bytes) {
  const int passes = (bytes + (1 << 20) - 1) >> 20;
  std::vector<Expected> expected = {{"cuStreamSynchronize", 1}};
  if (rank < 2) {
    const int copies = rank == 0 ? passes : 2 * passes;
    expected.insert(expected.end(), {{"cuPointerGetAttributes", kAny, true},
                                     {"cuCtxGetCurrent", 2},
                                     {"cuThreadExchangeStreamCaptureMode", 4},
                                     {"cuStreamGetCaptureInfo_v2", 1},
                                     {"cuMemcpyAsync", static_cast<double>(copies)},
                                     {"cuStreamBatchMemOp_v2", static_cast<double>(passes)}});
  }
  const OnStream on;
  const Area memory = plain(size_t{4} << 20);
  expect_calls("an enqueued message", expected, [&] {
    if (rank == 0) OK(MPIX_Send_enqueue(memory.address(), bytes, MPI_BYTE, 1, 0, on.comm));
    if (rank == 1)
      OK(MPIX_Recv_enqueue(memory.address(), bytes, MPI_BYTE, 0, 0, on.comm, MPI_STATUS_IGNORE));
    on.sync();
  });
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (!control().there()) {
    OK(MPI_Finalize());
    return 77;
  }
  const char* const engine = std::getenv("TERN_GPU_ENGINE");
  if (engine != nullptr) {
    std::strcmp(engine, "stream") == 0 ? large_by_stream() : large_by_kernel();
    return end();
  }
  for (const char* wire : {"ll", "ll128", "simple"}) allreduce_by(wire, 100);
  alltoallv();
  messages(8);
  messages(3 << 20);
  return end();
}

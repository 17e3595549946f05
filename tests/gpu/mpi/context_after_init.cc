// SPDX-License-Identifier: Apache-2.0
// CUDA starts after MPI_Init, with any current context. Every call preserves the context and the
// thread's capture mode, even during a capture.
// ranks: 2
// configurations: 1 4-peers 2-apart jitter in-turn
#include "allocators.hpp"

using namespace tern::test;

namespace {

CUstreamCaptureMode mode_now() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CU(cuThreadExchangeStreamCaptureMode(&mode));
  CUstreamCaptureMode before = mode;
  CU(cuThreadExchangeStreamCaptureMode(&before));
  return mode;
}

const char* situation = "";
#define SAME(call)                                                               \
  do {                                                                           \
    CUcontext before_ = nullptr, after_ = nullptr;                               \
    const CUstreamCaptureMode mode_ = mode_now();                                \
    CU(cuCtxGetCurrent(&before_));                                               \
    OK(call);                                                                    \
    CU(cuCtxGetCurrent(&after_));                                                \
    if (before_ != after_) FAIL("%s: %s changes the context", situation, #call); \
    if (mode_ != mode_now()) FAIL("%s: %s changes the mode", situation, #call);  \
  } while (0)

constexpr int kMost = 2 << 20;

void calls(const Area& from, const Area& to) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const int peer = 1 - rank;
  for (const int bytes : {16, 20000, kMost}) {
    MPI_Request request[2];
    SAME(MPI_Irecv(to.address(), bytes, MPI_BYTE, peer, 1, w, &request[0]));
    SAME(MPI_Isend(from.address(), bytes, MPI_BYTE, peer, 1, w, &request[1]));
    SAME(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    SAME(MPI_Sendrecv(from.address(), bytes, MPI_BYTE, peer, 2, to.address(), bytes, MPI_BYTE, peer,
                      2, w, MPI_STATUS_IGNORE));
    SAME(MPI_Allreduce(from.address(), to.address(), bytes / 4, MPI_INT, MPI_SUM, w));
    SAME(MPI_Bcast(to.address(), bytes, MPI_BYTE, 0, w));
    SAME(MPI_Alltoall(from.address(), bytes / 2, MPI_BYTE, to.address(), bytes / 2, MPI_BYTE, w));
  }
  MPI_Datatype columns;
  SAME(MPI_Type_vector(1000, 3, 7, MPI_INT, &columns));
  SAME(MPI_Type_commit(&columns));
  SAME(MPI_Sendrecv(from.address(), 1, columns, peer, 3, to.address(), 3000, MPI_INT, peer, 3, w,
                    MPI_STATUS_IGNORE));
  SAME(MPI_Type_free(&columns));
}

void checked(const Area& from, const Area& to) {
  CUcontext users = nullptr;
  CU(cuCtxGetCurrent(&users));
  OK(MPI_Sendrecv(from.address(), kMost, MPI_BYTE, 1 - rank, 4, to.address(), kMost, MPI_BYTE,
                  1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  if (to.get(kMost) != bytes_of(kMost, static_cast<unsigned>(1 - rank)))
    FAIL("%s: wrong data arrives", situation);
  CU(cuCtxSetCurrent(users));
}

void in(const char* name, CUcontext current, const Area& from, const Area& to) {
  situation = name;
  CU(cuCtxSetCurrent(current));
  calls(from, to);
  checked(from, to);
}

// PyTorch captures in the global mode, which forbids many calls on this thread.
void in_a_capture(const Area& from, const Area& to) {
  situation = "in a capture";
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const Area scratch = plain(4096);
  calls(from, to);
  CU(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU(cuMemsetD8Async(scratch.at, 1, 4096, stream));
  calls(from, to);
  CU(cuMemsetD8Async(scratch.at, 2, 4096, stream));
  CU(cuStreamEndCapture(stream, &graph));
  CHECK(graph != nullptr);
  CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy_v2(stream));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  std::vector<char> heap(1 << 20);
  OK(MPI_Sendrecv_replace(heap.data(), 1 << 20, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
  start_cuda();
  const int mine = rank % devices;
  CUcontext own = nullptr, others_own = nullptr;
  CU(cuCtxCreate_v2(&own, 0, mine));
  CU(cuCtxCreate_v2(&others_own, 0, other_device()));
  for (const bool in_own : {false, true}) {
    CU(cuCtxSetCurrent(in_own ? own : contexts[mine]));
    const Area from = plain(kMost), to = plain(kMost);
    const auto data = bytes_of(kMost, static_cast<unsigned>(rank));
    from.put(data);
    in("primary context current", contexts[mine], from, to);
    in("no context current", nullptr, from, to);
    in("own context current", own, from, to);
    in("own context of another device current", others_own, from, to);
    CU(cuCtxSetCurrent(in_own ? own : contexts[mine]));
    in_a_capture(from, to);
    CU(cuCtxSetCurrent(in_own ? own : contexts[mine]));
  }
  CU(cuCtxSetCurrent(contexts[mine]));
  SAME(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  CUcontext now = nullptr;
  CU(cuCtxGetCurrent(&now));
  if (now != contexts[mine]) return 1;
  return 0;
}

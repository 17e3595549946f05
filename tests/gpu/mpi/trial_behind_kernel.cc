// SPDX-License-Identifier: Apache-2.0
// During the first import of a peer's memory another library's wait heads the only hardware queue,
// ahead of the link test's copy. Host messages continue, and a message ends the wait.
// ranks: 2
// configurations: queue-peers
// timeout: 60
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 300'000;

class Wait {
 public:
  Wait() {
    CU(cuMemHostAlloc(reinterpret_cast<void**>(&word_), 64, CU_MEMHOSTALLOC_DEVICEMAP));
    *word_ = 0;
    CU(cuMemHostGetDevicePointer_v2(&at_, word_, 0));
    CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void begin() { CU(cuStreamWaitValue32_v2(stream_, at_, 1, CU_STREAM_WAIT_VALUE_EQ)); }
  void end() { __atomic_store_n(word_, 1U, __ATOMIC_RELEASE); }
  ~Wait() {
    CU(cuStreamSynchronize(stream_));
    CU(cuStreamDestroy_v2(stream_));
    CU(cuMemFreeHost(word_));
  }

 private:
  unsigned* word_ = nullptr;
  CUdeviceptr at_ = 0;
  CUstream stream_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    Wait wait;
    const Area area = plain(kCount);
    const std::vector<uint8_t> data(kCount, 7);
    area.put(data.data(), kCount);
    CU(cuCtxSynchronize());
    const Area other = plain(kCount);
    OK(MPI_Sendrecv(area.address(), kCount, MPI_BYTE, 0, 0, other.address(), kCount, MPI_BYTE, 0, 0,
                    MPI_COMM_SELF, MPI_STATUS_IGNORE));
    MPI_Request request = MPI_REQUEST_NULL;
    int go = 1;
    if (rank == 0) {
      OK(MPI_Isend(area.address(), kCount, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request));
      OK(MPI_Recv(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    } else {
      wait.begin();
      OK(MPI_Irecv(area.address(), kCount, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request));
      int flag = 0;
      for (int i = 0; i < 1000; ++i) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
      CHECK(flag == 0);
      OK(MPI_Send(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
      OK(MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      wait.end();
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(area.get(kCount) == data);
  }
  return end();
}

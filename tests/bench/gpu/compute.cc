// SPDX-License-Identifier: Apache-2.0
// Time of a computing kernel of rank 0: alone, beside messages of 64 MiB, and while a stream of
// rank 1 waits for a semaphore: on one GPU without MPS the waiting stream may keep its time slice.
// Without busy.fatbin (nvcc) beside the program, the exit status is 77.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "gpu.hpp"

using namespace tern::bench;

namespace {

constexpr int kData = 1, kEnd = 2, kWait = 3;

std::string image() {
  char path[PATH_MAX] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return {};
  std::ifstream file(std::string(path, std::strrchr(path, '/')) + "/busy.fatbin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Busy {
  CUfunction function = nullptr;
  CUevent begin = nullptr, end = nullptr;
  Area out{Kind::kDevice, sizeof(float)};
  int blocks = 0;

  explicit Busy(const std::string& code) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUdevice device = 0;
    CU(cuLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    CU(cuLibraryGetKernel(&kernel, library, "busy"));
    CU(cuKernelGetFunction(&function, kernel));
    CU(cuCtxGetDevice(&device));
    CU(cuDeviceGetAttribute(&blocks, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    CU(cuEventCreate(&begin, 0));
    CU(cuEventCreate(&end, 0));
  }

  /// run() returns the kernel's milliseconds and calls `meanwhile` until the kernel has ended.
  float run(long long turns, const std::function<void()>& meanwhile) {
    void* address = out.address();
    void* arguments[] = {&address, &turns};
    CU(cuEventRecord(begin, stream));
    CU(cuLaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, 256, 1, 1, 0, stream,
                      arguments, nullptr));
    CU(cuEventRecord(end, stream));
    while (cuEventQuery(end) == CUDA_ERROR_NOT_READY) meanwhile();
    CU(cuEventSynchronize(end));
    float milliseconds = 0;
    CU(cuEventElapsedTime(&milliseconds, begin, end));
    return milliseconds;
  }
};

float median(Busy& busy, long long turns, const std::function<void()>& meanwhile) {
  std::vector<float> times;
  for (int i = 0; i < 7; ++i) times.push_back(busy.run(turns, meanwhile));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void computes(const std::string& code, size_t bytes) {
  Busy busy(code);
  Area data(Kind::kDevice, bytes);
  const auto send = [&] {
    OK(MPI_Send(data.address(), static_cast<int>(bytes), MPI_BYTE, 1, kData, MPI_COMM_WORLD));
  };
  send();
  long long turns = 100000;
  while (busy.run(turns, [] {}) < (quick ? 5.0F : 100.0F)) turns *= 2;
  const float alone = median(busy, turns, [] {});
  const float beside = median(busy, turns, send);
  OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, kEnd, MPI_COMM_WORLD));
  OK(MPI_Recv(nullptr, 0, MPI_BYTE, 1, kWait, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const float beside_wait = median(busy, turns, [] {});
  OK(MPI_Send(nullptr, 0, MPI_BYTE, 1, kEnd, MPI_COMM_WORLD));
  report("compute_beside_wait", bytes, static_cast<double>(beside_wait), "ms");
  report("compute_alone", bytes, static_cast<double>(alone), "ms");
  report("compute_while_sending", bytes, static_cast<double>(beside), "ms");
}

void receives(size_t bytes) {
  Area data(Kind::kDevice, bytes);
  MPI_Status status;
  do {
    OK(MPI_Recv(data.address(), static_cast<int>(bytes), MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD,
                &status));
  } while (status.MPI_TAG == kData);
}

void waits() {
  Area word(Kind::kPinned, sizeof(uint32_t));
  *static_cast<volatile uint32_t*>(word.address()) = 0;
  CUdeviceptr at = 0;
  CU(cuMemHostGetDevicePointer_v2(&at, word.address(), 0));
  CU(cuStreamWaitValue32_v2(stream, at, 1, CU_STREAM_WAIT_VALUE_EQ));
  (void)cuStreamQuery(stream);
  OK(MPI_Send(nullptr, 0, MPI_BYTE, 0, kWait, MPI_COMM_WORLD));
  OK(MPI_Recv(nullptr, 0, MPI_BYTE, 0, kEnd, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  *static_cast<volatile uint32_t*>(word.address()) = 1;
  CU(cuStreamSynchronize(stream));
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size != 2) FAIL("compute runs with 2 ranks, not %d", size);
  const std::string code = image();
  if (code.empty() || dlsym(RTLD_DEFAULT, "softcuda_marker") != nullptr) {
    if (rank == 0) std::fprintf(stderr, "compute is left out: no busy.fatbin, or no real driver\n");
    (void)finish();
    return 77;
  }
  if (rank == 0) {
    computes(code, large());
  } else {
    receives(large());
    waits();
  }
  return finish();
}

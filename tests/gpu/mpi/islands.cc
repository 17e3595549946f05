// SPDX-License-Identifier: Apache-2.0
// Four ranks on two pairs of GPUs, of which only those of a pair reach each other: a large
// reduction is done within each pair first, so that no more goes through the host than each pair
// has to tell the other. The software driver's trace tells what does.
// ranks: 4
// configurations: islands
#include <unistd.h>

#include <fstream>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);
std::string trace;

bool on_device(CUdeviceptr at) {
  unsigned type = 0;
  return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE;
}

/// Bytes that copies between host and device have moved since `first`, the place in the trace.
size_t through_host(std::streamoff* first) {
  std::ifstream file(trace + "." + std::to_string(getpid()));
  if (!file) FAIL("no trace at %s", trace.c_str());
  file.seekg(*first);
  size_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    *first += static_cast<std::streamoff>(line.size() + 1);
    const size_t name = line.find("cuMemcpy"), words = line.find('(');
    unsigned long long to = 0, from = 0, length = 0;
    if (name == std::string::npos ||
        std::sscanf(line.c_str() + words, "(%lli, %lli, %lli", &to, &from, &length) != 3)
      continue;
    if (!on_device(to) || !on_device(from)) bytes += length;
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  char folder[] = "/tmp/tern_trace_XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  trace = std::string(folder) + "/calls";
  setenv("SOFTCUDA_TRACE", trace.c_str(), 1);
  begin(&argc, &argv);
  start_cuda();
  if (control().there()) {
    const Area in = plain(kBytes), out = plain(kBytes);
    std::vector<float> mine(kCount), got(kCount);
    for (int i = 0; i < kCount; ++i)
      mine[static_cast<size_t>(i)] = static_cast<float>(i % 97 + rank);
    in.put(mine.data(), kBytes);
    std::streamoff place = 0;
    unsigned long long bytes = 0, sum = 0;
    for (int round = 0; round < 2; ++round) {
      (void)through_host(&place);
      OK(MPI_Allreduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
      bytes = through_host(&place);
      out.get(got.data(), kBytes);
      for (int i = 0; i < kCount; ++i)
        if (got[static_cast<size_t>(i)] != static_cast<float>(4 * (i % 97) + 6))
          FAIL("element %d is %g", i, static_cast<double>(got[static_cast<size_t>(i)]));
    }
    OK(MPI_Allreduce(&bytes, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (rank == 0)
      std::printf("%.2f times the data between host and devices, all ranks\n",
                  static_cast<double>(sum) / kBytes);
    // Each half once to the other pair, and back: out of a device, into one.
    if (sum > 4 * kBytes) FAIL("%llu bytes pass the host for %zu bytes of data", sum, kBytes);
  }
  OK(MPI_Finalize());
  (void)unlink((trace + "." + std::to_string(getpid())).c_str());
  (void)rmdir(folder);
  return control().there() ? 0 : 77;
}

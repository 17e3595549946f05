// SPDX-License-Identifier: Apache-2.0
// Large collectives of device memory stay on the devices: the driver is not asked to copy the data
// to host memory or back. The software driver's trace tells what it is asked for.
// ranks: 2 4
// configurations: 1 4-peers in-turn 12.0
#include <unistd.h>

#include <fstream>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = 4 << 20;
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
  size_t bytes = 0, copies = 0;
  for (std::string line; std::getline(file, line);) {
    *first += static_cast<std::streamoff>(line.size() + 1);
    const size_t name = line.find("cuMemcpy");
    const size_t words = line.find('(');
    unsigned long long to = 0, from = 0, length = 0;
    if (name == std::string::npos ||
        std::sscanf(line.c_str() + words, "(%lli, %lli, %lli", &to, &from, &length) != 3)
      continue;
    ++copies;
    if (!on_device(to) || !on_device(from)) bytes += length;
  }
  return bytes;
}

void check(const char* what, std::streamoff* place) {
  static bool links_were_tried = false;  // by the first, with patterns of the host
  constexpr size_t kTrial = 8 * 65536;
  const size_t bytes = through_host(place);
  if (bytes > (links_were_tried ? 0 : kTrial))
    FAIL("%s of %zu bytes on the device copies %zu bytes from or to the host", what, kBytes, bytes);
  links_were_tried = true;
}

void reductions(const Area& in, const Area& out) {
  std::streamoff place = 0;
  (void)through_host(&place);
  const MPI_Comm w = MPI_COMM_WORLD;
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Allreduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Allreduce", &place);
    OK(MPI_Reduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_MAX, 0, w));
    check("MPI_Reduce", &place);
    OK(MPI_Reduce_scatter_block(in.address(), out.address(), kCount / size, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Reduce_scatter_block", &place);
    OK(MPI_Scan(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, w));
    check("MPI_Scan", &place);
    OK(MPI_Bcast(out.address(), kCount, MPI_FLOAT, 0, w));
    check("MPI_Bcast", &place);
    OK(MPI_Allgather(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size,
                     MPI_FLOAT, w));
    check("MPI_Allgather", &place);
    OK(MPI_Gather(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                  1, w));
    check("MPI_Gather", &place);
    OK(MPI_Scatter(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                   1, w));
    check("MPI_Scatter", &place);
    OK(MPI_Alltoall(in.address(), kCount / size, MPI_FLOAT, out.address(), kCount / size, MPI_FLOAT,
                    w));
    check("MPI_Alltoall", &place);
  }
  // And a copy that does go to the host is seen, or the above means nothing.
  (void)in.get(kBytes);
  if (through_host(&place) < kBytes) FAIL("the trace does not show a copy to the host");
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
    in.put(std::vector<uint8_t>(kBytes));
    out.put(std::vector<uint8_t>(kBytes));
    reductions(in, out);
  }
  OK(MPI_Finalize());
  (void)unlink((trace + "." + std::to_string(getpid())).c_str());
  (void)rmdir(folder);
  return control().there() ? 0 : 77;
}

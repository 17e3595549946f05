// SPDX-License-Identifier: Apache-2.0
// A growing segment like PyTorch's expandable segments: a reserved address range, mapped in blocks.
// Each message is a single copy. The peer imports only new blocks, and releases unmapped blocks.
// ranks: 2
// configurations: 1 4-peers
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kMost = 40;

class Segment {
 public:
  Segment() {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, rank % devices};
    properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CU(cuMemGetAllocationGranularity(&grain, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU(cuMemAddressReserve(&area.at, kMost * grain, 0, 0, 0));
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() {
    for (int i = 0; i < kMost; ++i)
      if (there_[i]) unmap(i);
    CU(cuMemAddressFree(area.at, kMost * grain));
  }
  void map(int piece) {
    const CUdeviceptr at = area.at + static_cast<size_t>(piece) * grain;
    CUmemGenericAllocationHandle handle = 0;
    CU(cuMemCreate(&handle, grain, &properties_, 0));
    CU(cuMemMap(at, grain, 0, handle, 0));
    CU(cuMemRelease(handle));
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CU(cuMemSetAccess(at, grain, &access, 1));
    there_[piece] = true;
  }
  void unmap(int piece) {
    CU(cuMemUnmap(area.at + static_cast<size_t>(piece) * grain, grain));
    there_[piece] = false;
  }
  Area area;
  size_t grain = 0;

 private:
  CUmemAllocationProp properties_{};
  bool there_[kMost] = {};
};

unsigned long long imports() {
  return control().there() ? control().calls("cuMemImportFromShareableHandle") : 0;
}

constexpr unsigned long long kAny = ~0ULL;

void message(const Segment& segment, int from, size_t offset, size_t bytes,
             unsigned long long fresh) {
  static unsigned seed = 0;
  const auto want = bytes_of(bytes, ++seed);
  const auto before = imports();
  if (rank == from) {
    segment.area.put(want, offset);
    OK(MPI_Send(segment.area.address(offset), static_cast<int>(bytes), MPI_BYTE, 1 - from, 0,
                MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Recv(segment.area.address(offset), static_cast<int>(bytes), MPI_BYTE, from, 0,
              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (segment.area.get(bytes, offset) != want)
    FAIL("%zu bytes at offset %zu of the segment are wrong", bytes, offset);
  if (control().there() && fresh != kAny && imports() - before != fresh)
    FAIL("%zu bytes at offset %zu: %llu pieces are mapped, expected %llu", bytes, offset,
         imports() - before, fresh);
}

void both_ways(const Segment& segment, size_t offset, size_t bytes, unsigned long long fresh) {
  message(segment, 0, offset, bytes, fresh);
  message(segment, 1, offset, bytes, fresh);
}

void grows_and_changes(Segment& segment) {
  const size_t grain = segment.grain;
  segment.map(0);
  both_ways(segment, 5, grain / 2, 1);
  both_ways(segment, 0, grain, 0);
  for (int i = 1; i < 4; ++i) segment.map(i);
  both_ways(segment, grain - 300000, 600000, 1);
  both_ways(segment, 7, 4 * grain - 9, 2);
  both_ways(segment, 3 * grain + 1, 300000, 0);
  segment.map(4);
  both_ways(segment, 0, 5 * grain, 1);
  segment.unmap(2);
  segment.map(2);
  both_ways(segment, 2 * grain, 300000, 1);
  both_ways(segment, 0, 5 * grain, 0);
  segment.unmap(1);
  segment.unmap(2);
  segment.map(1);
  segment.map(2);
  both_ways(segment, grain / 2, 3 * grain, 2);
}

long long more_mappings(const std::vector<long long>& before) {
  const auto now = alive();
  for (size_t i = 0; i < before.size(); ++i)
    if (std::string(kLive[i]) == "mappings") return now[i] - before[i];
  return 0;
}

// Other messages make the peer release the mappings soon.
void lets_go(const std::vector<long long>& before) {
  const Area small = plain(100000);
  const double until = MPI_Wtime() + 10;
  int goes_on = 1;
  while (goes_on != 0) {
    for (const int from : {0, 1})
      if (rank == from)
        OK(MPI_Send(small.address(), 100000, MPI_BYTE, 1 - from, 0, MPI_COMM_WORLD));
      else
        OK(MPI_Recv(small.address(), 100000, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    goes_on = more_mappings(before) != 0 && MPI_Wtime() < until ? 1 : 0;
    OK(MPI_Allreduce(MPI_IN_PLACE, &goes_on, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  }
  if (more_mappings(before) != 0)
    FAIL("%lld more mappings are alive than before, though the peer has unmapped",
         more_mappings(before));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const auto before = alive();
  settle_contexts();
  {
    Segment segment;
    grows_and_changes(segment);
    for (int i = 5; i < kMost; ++i) segment.map(i);
    message(segment, 0, 100, (kMost - 1) * segment.grain, kAny);
    message(segment, 0, 39 * segment.grain, 100000, 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  lets_go(before);
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}

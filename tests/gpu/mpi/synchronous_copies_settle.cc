// SPDX-License-Identifier: Apache-2.0
// A synchronous copy or memset returns early, before an MPI call: a send transmits the written
// data, and the write does not overwrite received data.
// ranks: 2
// env: SOFTCUDA_LATE=4000 SOFTCUDA_PAGEABLE=async
#include "allocators.hpp"

using namespace tern::test;

namespace {

enum Write { kFromHost, kFromDevice, kSet, kWrites };
const char* const kNames[] = {"copy from pageable memory", "copy on the device", "memset"};

void write(Write how, CUdeviceptr to, const std::vector<uint8_t>& data, const Area& aside) {
  switch (how) {
    case kFromHost:
      CU(cuMemcpyHtoD_v2(to, data.data(), data.size()));
      return;
    case kFromDevice:
      CU(cuMemcpyDtoD_v2(to, aside.at, data.size()));
      return;
    default:
      CU(cuMemsetD8_v2(to, data[0], data.size()));
  }
}

std::vector<uint8_t> text(Write how, size_t bytes, unsigned seed) {
  return how == kSet ? std::vector<uint8_t>(bytes, static_cast<uint8_t>(seed))
                     : bytes_of(bytes, seed);
}

void message(const Allocator& by, Write how, size_t bytes, int round, const Area& memory) {
  const int count = static_cast<int>(bytes);
  const auto seed = static_cast<unsigned>(round * 2 + rank + 1);
  const auto mine = text(how, bytes, seed);
  const Area aside = plain(bytes);
  aside.put(mine);
  CU(cuCtxSynchronize());
  OK(MPI_Barrier(MPI_COMM_WORLD));
  write(how, memory.at, mine, aside);
  if (rank == 0) {
    OK(MPI_Send(memory.address(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Recv(memory.address(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CU(cuCtxSynchronize());
  if (memory.get(bytes) != text(how, bytes, seed - 1))
    FAIL("%s, %s of %zu bytes, message %d: not the last written data", by.name, kNames[how], bytes,
         round);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (const Allocator& by : kAllocators)
    for (int how = 0; how < kWrites; ++how)
      for (const size_t bytes : {size_t{64}, size_t{100000}, size_t{3 << 20}}) {
        const Area memory = by.make(bytes);
        for (int round = 0; round < 2; ++round)
          message(by, static_cast<Write>(how), bytes, round, memory);
      }
  return end();
}

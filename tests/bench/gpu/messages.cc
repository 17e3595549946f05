// SPDX-License-Identifier: Apache-2.0
// Latency and bandwidth between two ranks for every pair of memory kinds; by hand through pinned
// buffers; copies of one process as the bound.
#include <deque>
#include <string>

#include "gpu.hpp"

using namespace tern::bench;

namespace {

constexpr int kWindow = 16;
constexpr Kind kMeasured[] = {Kind::kHost,    Kind::kPinned, Kind::kDevice,
                              Kind::kManaged, Kind::kPool,   Kind::kMapped};

void ping(const char* name, size_t bytes, const std::function<void()>& send,
          const std::function<void()>& receive) {
  const double seconds = seconds_of(bytes > 100000 ? 20 : 500, [&] {
    rank == 0 ? send() : receive();
    rank == 0 ? receive() : send();
  });
  report(name, bytes, seconds / 2 * 1e6, "us");
}

void latency(Kind from, Kind to, size_t bytes) {
  Area mine(rank == 0 ? from : to, bytes);
  const int count = static_cast<int>(bytes);
  const std::string name =
      std::string("latency_") + tern::test::name_of(from) + "_" + tern::test::name_of(to);
  ping(
      name.c_str(), bytes,
      [&] { OK(MPI_Send(mine.address(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD)); },
      [&] {
        OK(MPI_Recv(mine.address(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
      });
}

void latency_by_hand(size_t bytes) {
  Area device(Kind::kDevice, bytes), pinned(Kind::kPinned, bytes);
  const int count = static_cast<int>(bytes);
  ping(
      "latency_by_hand", bytes,
      [&] {
        to_host(pinned, device, bytes);
        OK(MPI_Send(pinned.address(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD));
      },
      [&] {
        OK(MPI_Recv(pinned.address(), count, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
        to_device(device, pinned, bytes);
      });
}

using Buffers = std::deque<Area>;

void fill(Buffers* buffers, Kind kind, size_t bytes) {
  for (int i = 0; i < kWindow; ++i) buffers->emplace_back(kind, bytes);
}

void window(Buffers& buffers, size_t bytes) {
  MPI_Request requests[kWindow];
  for (int i = 0; i < kWindow; ++i) {
    void* const at = buffers[static_cast<size_t>(i)].address();
    if (rank == 0)
      OK(MPI_Isend(at, static_cast<int>(bytes), MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
    else
      OK(MPI_Irecv(at, static_cast<int>(bytes), MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE));
}

double rate(size_t bytes, double seconds) {
  return static_cast<double>(bytes) * kWindow / seconds / 1e9;
}

void bandwidth(Kind from, Kind to, size_t bytes) {
  Buffers buffers;
  fill(&buffers, rank == 0 ? from : to, bytes);
  const double seconds = seconds_of(2, [&] { window(buffers, bytes); });
  const std::string name =
      std::string("bandwidth_") + tern::test::name_of(from) + "_" + tern::test::name_of(to);
  report(name.c_str(), bytes, rate(bytes, seconds), "GB/s");
}

void bandwidth_by_hand(size_t bytes) {
  Buffers device, pinned;
  fill(&device, Kind::kDevice, bytes);
  fill(&pinned, Kind::kPinned, bytes);
  const double seconds = seconds_of(2, [&] {
    for (size_t i = 0; rank == 0 && i < kWindow; ++i) to_host(pinned[i], device[i], bytes);
    window(pinned, bytes);
    for (size_t i = 0; rank == 1 && i < kWindow; ++i) to_device(device[i], pinned[i], bytes);
  });
  report("bandwidth_by_hand", bytes, rate(bytes, seconds), "GB/s");
}

void bandwidth_in_one_process(size_t bytes) {
  Buffers from, to;
  if (rank == 0) fill(&from, Kind::kDevice, bytes);
  if (rank == 0) fill(&to, Kind::kDevice, bytes);
  const double seconds = seconds_of(2, [&] {
    for (size_t i = 0; rank == 0 && i < kWindow; ++i)
      CU(cuMemcpyDtoDAsync_v2(to[i].at, from[i].at, bytes, stream));
    CU(cuStreamSynchronize(stream));
  });
  report("bandwidth_copies", bytes, rate(bytes, seconds), "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size != 2) FAIL("messages runs with 2 ranks, not %d", size);
  for (const Kind from : kMeasured)
    for (const Kind to : kMeasured) {
      latency(from, to, 8);
      bandwidth(from, to, large());
    }
  for (size_t bytes = 64; bytes <= large(); bytes *= 16)
    latency(Kind::kDevice, Kind::kDevice, bytes);
  latency_by_hand(8);
  bandwidth_by_hand(large());
  bandwidth_in_one_process(large());
  return finish();
}

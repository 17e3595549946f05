// SPDX-License-Identifier: Apache-2.0
// The common part of the GPU benchmarks. Why: the programs use only the driver (libcuda.so.1), so a
// compiled program runs on any machine with a driver. Output: `name bytes ranks value unit` on rank
// 0.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/gpu/mpi/memory.hpp"

namespace tern::bench {

using test::Area;
using test::Kind;

inline bool quick = false;  // small sizes, few rounds: a test, no figure
inline CUstream stream = nullptr;

inline void start(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    if (std::strcmp((*argv)[i], "--quick") != 0) {
      std::fprintf(stderr, "usage: %s [--quick]\n", (*argv)[0]);
      std::exit(2);
    }
    quick = true;
  }
  ::begin(argc, argv);
  test::start_cuda();
  CU(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
}

inline int finish() {
  CU(cuStreamDestroy_v2(stream));
  return ::end();
}

inline size_t large() { return quick ? size_t{64} << 10 : size_t{64} << 20; }

/// seconds_of() returns the slowest rank's seconds of one round: the median of the batches.
/// Collective.
inline double seconds_of(int rounds, const std::function<void()>& round) {
  std::vector<double> batches;
  round();
  for (int batch = 0; batch < (quick ? 2 : 11); ++batch) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const double start = MPI_Wtime();
    for (int i = 0; i < (quick ? 2 : rounds); ++i) round();
    const double took = (MPI_Wtime() - start) / (quick ? 2 : rounds);
    double slowest = 0;
    OK(MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    batches.push_back(slowest);
  }
  std::sort(batches.begin(), batches.end());
  return batches[batches.size() / 2];
}

inline void report(const char* name, size_t bytes, double value, const char* unit) {
  if (rank == 0) std::printf("%s %zu %d %.6g %s\n", name, bytes, size, value, unit);
  std::fflush(stdout);
}

inline void to_host(Area& pinned, const Area& device, size_t bytes) {
  CU(cuMemcpyDtoHAsync_v2(pinned.address(), device.at, bytes, stream));
  CU(cuStreamSynchronize(stream));
}
inline void to_device(Area& device, const Area& pinned, size_t bytes) {
  CU(cuMemcpyHtoDAsync_v2(device.at, pinned.address(), bytes, stream));
  CU(cuStreamSynchronize(stream));
}

}  // namespace tern::bench

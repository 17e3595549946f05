// SPDX-License-Identifier: Apache-2.0
// Gpu: memory and a stream on this rank's GPU, for tune --device. The ranks of a host take its GPUs
// in turn.
// Lifetime: within MPI's. Threads: one.
#pragma once

#include <cstddef>
#include <string>

#include "coll/algorithms/algorithms.hpp"
#include "cuda/driver.hpp"
#include "tools/tern_coll/mpi_library.hpp"

namespace tern::coll_tool {

class Gpu {
 public:
  /// `bytes`: of input and of output. Throws tern::Error without a GPU.
  Gpu(const MpiLibrary& mpi, size_t bytes);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] void* input() const noexcept { return reinterpret_cast<void*>(input_); }
  [[nodiscard]] void* output() const noexcept { return reinterpret_cast<void*>(output_); }
  [[nodiscard]] MPI_Comm on_stream(MPI_Comm comm) const;
  void wait() const;

 private:
  const MpiLibrary& mpi_;
  const cuda::Driver* driver_ = nullptr;
  std::string name_;
  CUstream stream_ = nullptr;
  CUdeviceptr input_ = 0, output_ = 0;
  MPIX_Stream of_mpi_ = MPIX_STREAM_NULL;
};

/// Whether devices with peer access run the row without the host.
[[nodiscard]] bool runs_on_devices(const coll::Algorithm& row, int ranks);

}  // namespace tern::coll_tool

// SPDX-License-Identifier: Apache-2.0
// JobRecording: the parts of a profile or trace for which ranks exchange messages.
// Clocks: lines "clock" (src/trace/README.md). The lowest rank of each host exchanges times with
// rank 0 at the start and at the end, and sends the result to the ranks of its host. Half of the
// shortest round trip bounds the error.
// Profile: without mpirun, rank 0 collects the profiles of all ranks for its page.
// Members: under a launcher other than mpirun, each rank publishes by a key of the boot whether the
// rank records. mpirun has one host, and reads the profiles itself.
#pragma once

#include <vector>

#include "core/process.hpp"

namespace tern::api {

class JobRecording {
 public:
  /// After trace::start(), before the fence of MPI_Init, also without a recorder. Throws Error.
  explicit JobRecording(core::Process& process);
  /// At the end of MPI_Init. Throws Error.
  void begin();
  /// At the start of MPI_Finalize.
  void end() noexcept;

 private:
  struct Sample {
    int64_t local_ns, ahead_ns, residual_ns;  // ahead: the job's time minus local_ns
  };
  [[nodiscard]] bool has_hosts() const noexcept;
  void gather();
  void measure();
  void serve();
  [[nodiscard]] bool ask(Sample* best);
  [[nodiscard]] bool records(int rank) const;
  [[nodiscard]] bool gathers(int rank) const;
  [[nodiscard]] bool send(const void* data, size_t bytes, int rank, int tag) const noexcept;
  [[nodiscard]] bool receive(void* data, size_t bytes, int rank, int tag) const noexcept;
  void learn_hosts();

  core::Process& process_;
  // World ranks that record. On rank 0: the other hosts' lowest; on these: their hosts' others.
  std::vector<int> partners_;
  int lowest_ = -1;  // of the recording ranks of this host; -1: no part in measurements
};

}  // namespace tern::api

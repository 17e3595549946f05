// SPDX-License-Identifier: Apache-2.0
// JobRecording: the parts of a profile or trace for which ranks talk to each other.
// Clocks: lines "clock" (src/trace/README.md). The lowest rank of each host exchanges times with
// rank 0 at the start and at the end, and tells the ranks of its host. Half of the shortest round
// trip bounds the error.
// Profile: without mpirun, rank 0 collects the profiles of all ranks for its page.
// Errors: none; without answers, lines or profiles are missing.
#pragma once

#include <vector>

#include "core/process.hpp"

namespace tern::api {

class JobRecording {
 public:
  /// After trace::start(), before the fence of MPI_Init.
  explicit JobRecording(core::Process& process);
  /// At the end of MPI_Init, on all ranks. Ranks that record nothing answer nothing. Throws Error.
  void begin();
  /// At the start of MPI_Finalize.
  void end() noexcept;

 private:
  struct Sample {
    int64_t local_ns, ahead_ns, residual_ns;  // ahead: the job's time minus local_ns
  };
  [[nodiscard]] bool has_hosts() const noexcept;
  void gather();
  void measure(bool first);
  void serve(bool first);
  [[nodiscard]] bool ask(bool first, Sample* best);
  [[nodiscard]] bool comes(int rank, int tag, bool first) const noexcept;
  [[nodiscard]] bool send(const void* data, size_t bytes, int rank, int tag) const noexcept;
  [[nodiscard]] bool receive(void* data, size_t bytes, int rank, int tag) const noexcept;
  void learn_hosts();

  core::Process& process_;
  // World ranks. On rank 0: the other hosts' lowest ranks that answered; on these: their hosts'
  // other ranks.
  std::vector<int> partners_;
  int lowest_ = 0;  // of this host
  bool answered_ = true;
  int64_t give_up_ns_ = 0;
};

}  // namespace tern::api

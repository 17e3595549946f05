// SPDX-License-Identifier: Apache-2.0
// WaitReport: a thread's wait, reported by its rank, collected and judged by mpirun. Why: a hang is
// explained for every rank without a debugger. See: core/progress.hpp (caller),
// tools/mpirun/wait_graph.hpp (judge).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct WaitReport {
  std::string call;        // "MPI_Recv"
  std::string words;       // "a message from rank 1 of MPI_COMM_WORLD with tag 7"
  std::vector<int> ranks;  // in MPI_COMM_WORLD
  bool any = false;        // one of `ranks` suffices; otherwise all are needed
  double seconds = 0;      // waiting time so far

  void wait_for(int rank);
};

/// Encodes in at most `room` bytes. Reports beyond that lose their ranks, and mpirun treats them as
/// making progress.
[[nodiscard]] std::string encode(const std::vector<WaitReport>& reports, size_t room);
/// Decodes untrusted text of another process into text and numbers.
[[nodiscard]] std::vector<WaitReport> decode_wait_reports(std::string_view text);

}  // namespace tern

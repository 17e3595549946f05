// SPDX-License-Identifier: Apache-2.0
// What a thread of a rank waits for: told by the rank, gathered and judged by mpirun.
// Why: "why does it hang" is answered for every rank, not only for the one with the debugger.
// See: core/progress.hpp (who asks), tools/mpirun/wait_graph.hpp (who judges).
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
  bool any = false;        // one of these is enough; else all are needed
  double seconds = 0;      // so long already

  /// Adds a rank once.
  void wait_for(int rank);
};

/// As text, at most `room` bytes. What does not fit becomes reports that name no ranks, which are
/// judged as going on.
[[nodiscard]] std::string encode(const std::vector<WaitReport>& reports, size_t room);
/// From text that another process wrote: whatever it is, nothing but text and numbers comes out.
[[nodiscard]] std::vector<WaitReport> decode_wait_reports(std::string_view text);

}  // namespace tern

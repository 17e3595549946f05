// SPDX-License-Identifier: Apache-2.0
// WaitReport: a thread's wait, reported by the rank, judged by mpirun
// (tools/mpirun/wait_graph.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct WaitReport {
  std::string call;
  std::string words;  // "a message from rank 1 of MPI_COMM_WORLD with tag 7"
  std::vector<int> ranks;
  bool any = false;
  double seconds = 0;

  void wait_for(int rank);
};

/// Encodes in at most `room` bytes; excess reports lose the ranks and count as progress.
[[nodiscard]] std::string encode(const std::vector<WaitReport>& reports, size_t room);
[[nodiscard]] std::vector<WaitReport> decode_wait_reports(std::string_view text);

}  // namespace tern

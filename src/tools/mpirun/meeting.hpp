// SPDX-License-Identifier: Apache-2.0
// Meeting: the shared memory of a job's ranks, the event that wakes mpirun, and the socket to
// mpirun's keeper (base/keeper.hpp). Ranks inherit all three.
// Lifetime: Job. Threads: the loop's.
#pragma once

#include <array>
#include <string>

#include "base/fd.hpp"
#include "base/keeper.hpp"
#include "boot/shared_job.hpp"

namespace tern::mpirun {

struct JobFacts {
  std::string id;
  std::string host;
  int size = 1;
  int universe_size = 1;  // MPI_UNIVERSE_SIZE: the larger of ranks and allowed processors
  int apps = 1;
};

class Meeting {
 public:
  explicit Meeting(const JobFacts& facts);

  Fd memory;
  Fd event;
  Keeper keeper;
  Fd keeper_end;
  boot::SharedJob shared;

 private:
  Meeting(const JobFacts& facts, std::array<int, 2> sockets);
};

}  // namespace tern::mpirun

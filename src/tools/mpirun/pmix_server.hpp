// SPDX-License-Identifier: Apache-2.0
// The PMIx server of a job, for ranks that speak PMIx: other MPI libraries, or Tern when told to.
// Lifetime: one per process (libpmix allows no more). Threads: made and ended by the loop's thread;
// libpmix answers on a thread of its own, which only posts to the loop and marks states.
#pragma once

#include <string>

#include "boot/shared_job.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

struct PmixFacts {
  std::string job_id;
  std::string host;
  int ranks = 1;
  int universe_size = 1;
  int apps = 1;
  int event_fd = -1;  // written to after an abort
};

class PmixServer {
 public:
  // `directory` is where the server may put its files. Throws tern::Error.
  PmixServer(Loop& loop, const PmixFacts& facts, boot::SharedJob& shared,
             const std::string& directory);
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;
  ~PmixServer();

  // The TCP port on 127.0.0.1 where it listens.
  [[nodiscard]] int port() const noexcept { return port_; }

 private:
  int port_ = 0;
};

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// The PMIx server of a job, for ranks that speak PMIx: other MPI libraries, or Tern when told to.
// Start: libpmix needs 15 ms to start, a Tern job of two ranks lasts five, and Tern's ranks never
// ask for PMIx. So mpirun listens before the first rank starts, and libpmix starts at the first
// connection of mpirun's user. Connections of other users are closed. libpmix gets the sockets of
// the others, and lets clients in by its own rules: user, group, and the job's name, a secret.
// Lifetime: one per process (libpmix allows no more). Threads: made and ended by the loop's thread;
// libpmix answers on a thread of its own, which only posts to the loop and marks states.
// See: tests/mpi/launch_pmix.sh, tests/mpi/fault_two_users.sh.
#pragma once

#include <functional>
#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/meeting.hpp"

namespace tern::mpirun {

// 32 hexadecimal digits that no other user can guess.
std::string random_name();

class PmixServer {
 public:
  PmixServer(Loop& loop, const JobFacts& facts, Meeting& meeting, Guard& guard);
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;
  ~PmixServer();

  // The variables by which PMIx clients find the server.
  void tell(Environment& environment) const;

  // Where a failure to start libpmix is reported.
  std::function<void(const std::string&)> on_trouble;

 private:
  void on_client();
  void start();

  Loop& loop_;
  const JobFacts& facts_;
  Meeting& meeting_;
  Guard& guard_;
  int port_ = 0;  // of listener_; 0: no client can connect
  Fd listener_;
  int libpmix_port_ = 0;  // 0: libpmix has not started
};

}  // namespace tern::mpirun

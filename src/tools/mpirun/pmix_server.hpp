// SPDX-License-Identifier: Apache-2.0
// The PMIx server of a job, for other MPI libraries, and for Tern on request.
// Start: libpmix takes 15 ms to start, a Tern job of two ranks takes five, and Tern's ranks do not
// use PMIx. So mpirun listens before the first rank starts, and starts libpmix at the first
// connection of the same user. mpirun closes connections of other users. libpmix admits clients by
// user, group and the job's secret name.
// Lifetime: one per process (libpmix allows no more). Threads: made and ended by the loop's thread;
// libpmix's own thread only posts to the loop and sets states.
#pragma once

#include <functional>
#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/meeting.hpp"

namespace tern::mpirun {

std::string random_name();

class PmixServer {
 public:
  PmixServer(Loop& loop, const JobFacts& facts, Meeting& meeting, Guard& guard);
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;
  ~PmixServer();

  void tell(Environment& environment) const;

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

// SPDX-License-Identifier: Apache-2.0
// The door of the PMIx server: a TCP port that is there from the first moment, and behind which
// the server starts at the first connection.
// Why: the server costs 15 ms, a Tern job of two ranks lasts five, and Tern's ranks never ask for
// it.
// How: mpirun listens; at the first connection it starts the server and passes the bytes of each
// connection to and fro. Connections of other users are refused (/proc/net/tcp names the owner).
// Threads: the loop's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "boot/shared_job.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/pmix_server.hpp"
#include "tools/mpirun/relay.hpp"

namespace tern::mpirun {

class PmixDoor {
 public:
  PmixDoor(Loop& loop, PmixFacts facts, boot::SharedJob& shared, Guard& guard);
  ~PmixDoor();

  // The variables by which PMIx clients find the door.
  void tell(Environment& environment) const;

  // Where a failure to start the server is reported.
  std::function<void(const std::string&)> on_trouble;

 private:
  void on_knock();
  void let_in(Fd client);
  void start_server();

  Loop& loop_;
  PmixFacts facts_;
  boot::SharedJob& shared_;
  Guard& guard_;
  Fd listener_;
  int port_ = 0;
  std::unique_ptr<PmixServer> server_;
  std::vector<std::unique_ptr<Relay>> relays_;
};

}  // namespace tern::mpirun

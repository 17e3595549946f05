// SPDX-License-Identifier: Apache-2.0
// Rooms: what a Process needs to speak with the others: transports, messages, collectives.
// Why: the C API and unit tests (ranks as threads) bring a Process into its job the same way.
// Life cycle: construct (exchanges cards, waits for all ranks), use, leave(), destroy.
// Threads: one caller.
#pragma once

#include <memory>
#include <vector>

#include "core/process.hpp"

namespace tern::pml {
class P2p;
}

namespace tern::api {

class HangWatch;
class ProgressThread;

class Rooms {
 public:
  /// `process.boot`, ranks and thread level are set. Throws Error.
  explicit Rooms(core::Process& process);
  ~Rooms();
  /// The level has risen: from now on the locks count. The channels stay as they are. Called while
  /// no other thread is in MPI.
  void admit_threads() noexcept;
  /// Sends what waits and meets all ranks: afterwards nobody needs this one's memory. Throws Error.
  void leave();

 private:
  void configure_waiting();
  void meet_all();

  core::Process& process_;
  std::vector<std::unique_ptr<pml::P2p>> pmls_;  // by channel
  std::vector<std::unique_ptr<coll::Coll>> colls_;
  std::unique_ptr<HangWatch> watch_;
  std::unique_ptr<ProgressThread> thread_;
};

}  // namespace tern::api

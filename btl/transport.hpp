// SPDX-License-Identifier: Apache-2.0
// Transport: what a folder of btl/ offers to the table of transports.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "btl/btl.hpp"
#include "btl/trial.hpp"

namespace tern::btl {

class AddressBook;

/// Each folder defines one, kTransport; table.cc names the folder.
struct Transport {
  const char* name;     // "sm"
  const char* reaches;  // "ranks of the same host"
  /// For channel 0 of this process; null where no peer of this process could be reached. `book`
  /// outlives it. Throws Error.
  std::unique_ptr<Btl> (*make)(core::Process& process, Sink& sink, AddressBook& book);
  /// Whether it works on this machine, for tern_info.
  std::vector<Trial> (*try_here)();
  /// Whether it is not made where another between hosts is there; null: it is made in any case.
  bool (*is_spare)(const core::Process& process) = nullptr;
};

/// One that is asked before all others, for tests; before any Table is made.
void put_before_others(const Transport& transport) noexcept;

/// Those of this build, in the order in which they are asked for a peer.
[[nodiscard]] std::span<const Transport* const> transports() noexcept;

/// Tries all transports of this build, in this order, by carrying bytes. Costs milliseconds and two
/// short-lived processes; one caller, before other threads start. See:
/// tests/unit/btl/trial_test.cc.
[[nodiscard]] std::vector<Trial> try_transports();

}  // namespace tern::btl

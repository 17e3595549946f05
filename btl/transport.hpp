// SPDX-License-Identifier: Apache-2.0
// Transport: a row of the table of transports.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "btl/btl.hpp"
#include "btl/trial.hpp"

namespace tern::btl {

class AddressBook;

/// Each folder defines one, named kTransport.
struct Transport {
  const char* name;     // "sm"
  const char* reaches;  // "ranks of the same host"
  /// Makes channel 0's Btl; null if no peer is in reach. `book` outlives the Btl. Throws Error.
  std::unique_ptr<Btl> (*make)(core::Process& process, Sink& sink, AddressBook& book);
  /// For tern_info.
  std::vector<Trial> (*try_here)();
  /// True: not made if another transport between hosts exists. Null: always made.
  bool (*is_spare)(const core::Process& process) = nullptr;
};

/// Precedes all others, for tests. Call before making a Table.
void put_before_others(const Transport& transport) noexcept;

/// In order of preference.
[[nodiscard]] std::span<const Transport* const> transports() noexcept;

/// Tries all transports by exchanging data. Costs milliseconds and two short-lived processes. Call
/// before starting threads. See: tests/unit/btl/trial_test.cc.
[[nodiscard]] std::vector<Trial> try_transports();

}  // namespace tern::btl

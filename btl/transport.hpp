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

struct Transport {
  const char* name;
  const char* reaches;
  /// make() returns channel 0's Btl, or null if no peer is in reach. `book` outlives the Btl.
  /// Throws Error.
  std::unique_ptr<Btl> (*make)(core::Process& process, Sink& sink, AddressBook& book);
  std::vector<Trial> (*try_here)();
  /// A spare transport is not made if another transport between hosts exists.
  bool (*is_spare)(const core::Process& process) = nullptr;
};

/// Tests call put_before_others() before making a Table.
void put_before_others(const Transport& transport) noexcept;

[[nodiscard]] std::span<const Transport* const> transports() noexcept;

/// try_transports() takes milliseconds and two short-lived processes. Callers must not have started
/// threads.
[[nodiscard]] std::vector<Trial> try_transports();

}  // namespace tern::btl

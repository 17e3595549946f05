// SPDX-License-Identifier: Apache-2.0
// AccessLog: all origins' pending accesses to ranks of this host, in a table at each target
// (TERN_CHECK=rma).
// Why: a put overlapping another access may corrupt memory, depending on timing. Each new access is
// checked against the table: a put conflicts with any access, a get with writes, an accumulate with
// accesses of another type. A conflict is MPI_ERR_RMA_CONFLICT, naming both calls and their places.
// Limits: misses loads, stores, ranks of other hosts, and accesses beyond the table's capacity.
// Lifetime: Window. Threads: any. See: tests/mpi/rma_conflicts.c.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tern::rma {

class Targets;
struct Place;

enum class Intent : uint8_t { kPut, kGet, kUpdate };

class AccessLog {
 public:
  explicit AccessLog(Targets& targets) noexcept : targets_(targets) {}
  /// The size of a table, behind a control block; zeros are an empty table.
  [[nodiscard]] static size_t bytes() noexcept;

  /// Records an access and returns 0, or MPI_ERR_RMA_CONFLICT with fail() text. `at`: byte offset
  /// of the first element's origin. Returns MPI_ERR_OTHER if a rank died with the table locked.
  [[nodiscard]] int begin(const Place& place, int64_t at, Intent intent) noexcept;
  /// Removes this rank's accesses to the target, or to all targets (-1).
  void end(int target) noexcept;

 private:
  struct Table;
  struct Entry;
  [[nodiscard]] Table* table(int target) noexcept;
  [[nodiscard]] int refuse(const Entry& entry, const Entry& met, int target) noexcept;
  Targets& targets_;
};

}  // namespace tern::rma

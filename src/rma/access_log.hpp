// SPDX-License-Identifier: Apache-2.0
// AccessLog: pending accesses of all origins on this host, in a table per target (TERN_CHECK=rma).
// Why: a put overlapping another access may corrupt memory, depending on timing. A put conflicts
// with any access, a get with writes, an accumulate with accesses of another type:
// MPI_ERR_RMA_CONFLICT names both calls. The log misses loads, stores, other hosts, and accesses
// beyond the table's capacity. Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tern::rma {

class Targets;
struct TargetData;

enum class Intent : uint8_t { kPut, kGet, kUpdate };

class AccessLog {
 public:
  explicit AccessLog(Targets& targets) noexcept : targets_(targets) {}
  /// A table of zeros is empty.
  [[nodiscard]] static size_t bytes() noexcept;

  /// Records an access, or returns MPI_ERR_RMA_CONFLICT with fail() text, or MPI_ERR_OTHER if a
  /// rank died with the table locked. `at`: offset of the first element's origin.
  [[nodiscard]] int begin(const TargetData& place, int64_t at, Intent intent) noexcept;
  /// Removes this rank's accesses to the target; -1 means all targets.
  void end(int target) noexcept;

 private:
  struct Table;
  struct Entry;
  [[nodiscard]] Table* table(int target) noexcept;
  [[nodiscard]] int refuse(const Entry& entry, const Entry& met, int target) noexcept;
  Targets& targets_;
};

}  // namespace tern::rma

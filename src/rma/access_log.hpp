// SPDX-License-Identifier: Apache-2.0
// AccessLog: the accesses to ranks of this host that have begun and are not done, by all origins,
// in a table at each target (TERN_CHECK=rma).
// Why: a put that meets another access leaves anything in memory, on some runs. Each new access is
// held against those in the table: a put with any, a get with what writes, an accumulate with
// another type. A conflict is MPI_ERR_RMA_CONFLICT, which names both calls and places.
// Limits: loads and stores are not seen, nor ranks of other hosts; what finds no room in the table
// is let pass. Lifetime: Window. Threads: any. See: tests/mpi/rma_conflicts.c.
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
  /// Of a table, behind a control block; zeros are an empty one.
  [[nodiscard]] static size_t bytes() noexcept;

  /// 0, and it is in the table, or MPI_ERR_RMA_CONFLICT with fail() text. `at`: of the first
  /// element's origin, in bytes. Also MPI_ERR_OTHER: a rank died with the table in hand.
  [[nodiscard]] int begin(const Place& place, int64_t at, Intent intent) noexcept;
  /// The own accesses to the target are done; to all (-1).
  void end(int target) noexcept;

 private:
  struct Table;
  struct Entry;
  [[nodiscard]] Table* table(int target) noexcept;
  [[nodiscard]] int refuse(const Entry& entry, const Entry& met, int target) noexcept;
  Targets& targets_;
};

}  // namespace tern::rma

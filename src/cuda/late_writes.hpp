// SPDX-License-Identifier: Apache-2.0
// LateWrites: the application's synchronous copies and memsets may return before they have written;
// what reads or writes that memory in another stream must come after them.
// Why: the driver is asked to be synchronous from now on, for an allocation or, where it refuses
// that, for a context, so that the legacy stream is waited for once at most: it joins all streams
// of the application, also one that waits for what another rank does later.
// Lifetime: of a Device. Threads: any.
// See: tests/gpu/mpi/synchronous_copies_settle.cc, pending_streams.cc.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"

namespace tern::cuda {

/// Whether a stream of the current context is captured so that the capture would be lost if
/// anything were asked of the legacy stream.
[[nodiscard]] bool legacy_is_captured(const Driver& driver) noexcept;

class LateWrites {
 public:
  explicit LateWrites(const Driver& driver) noexcept : driver_(driver) {}
  LateWrites(const LateWrites&) = delete;
  LateWrites& operator=(const LateWrites&) = delete;
  /// Whether it is known that all that was promised of memory has been written. Asks no driver.
  [[nodiscard]] bool are_none_on(const Memory& memory) noexcept;
  /// Whether an allocation was met before. No two allocations of a process have one id, and none
  /// outlives its context.
  [[nodiscard]] bool knows(const Memory& memory) const noexcept;
  /// Makes it so where the driver can: waits for what is pending on that memory. Its context is
  /// current.
  [[nodiscard]] bool end_on(const Memory& memory) noexcept;
  /// Orders a stream behind what may be late in a context, which is current. *waits: it is not yet
  /// there. While a stream of the application's is captured that nothing may be ordered with, and
  /// synchronous calls are refused, it does nothing.
  [[nodiscard]] CUresult order_behind(CUstream stream, CUcontext current, bool* waits) noexcept;
  [[nodiscard]] bool empty() const noexcept { return since_.empty(); }
  /// True once after a context was made synchronous.
  [[nodiscard]] bool has_changed_context() noexcept {
    return changed_.load(std::memory_order_relaxed) && changed_.exchange(false);
  }
  /// Restores the flags of contexts. The device's context is current, or (forget) has ended.
  void destroy() noexcept;
  void forget() noexcept;

 private:
  struct Since {
    CUevent event = nullptr;    // behind all before; null: it has happened
    bool ours = false;          // the application had not asked for it
    unsigned long long id = 0;  // of the context: another one may have its handle later
  };
  [[nodiscard]] std::optional<unsigned> flags() const noexcept;  // of the current context
  [[nodiscard]] CUresult record(CUevent* event) const noexcept;
  [[nodiscard]] bool keep(CUcontext of, const Since& since) noexcept;
  [[nodiscard]] unsigned long long id_of(CUcontext context) const noexcept;
  void restore(CUcontext context) noexcept;
  const Driver& driver_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, bool> synchronous_;  // by buffer id; false: refused
  std::unordered_map<CUcontext, Since> since_;      // of contexts that were made synchronous
  std::atomic<bool> changed_{false};
};

}  // namespace tern::cuda

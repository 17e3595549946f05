// SPDX-License-Identifier: Apache-2.0
// LateWrites: orders Tern's streams behind the application's synchronous copies and memsets, which
// may return before writing.
// Why: Tern makes the driver synchronous for an allocation or, if refused, for a context, and so
// waits for the legacy stream at most once per context (src/cuda/README.md). Lifetime: the
// Device's. Threads: any.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"

namespace tern::cuda {

/// Whether a capture in the current context would be invalidated by a use of the legacy stream.
[[nodiscard]] bool legacy_is_captured(const Driver& driver) noexcept;

class LateWrites {
 public:
  explicit LateWrites(const Driver& driver) noexcept : driver_(driver) {}
  LateWrites(const LateWrites&) = delete;
  LateWrites& operator=(const LateWrites&) = delete;
  /// Whether all writes to the memory are known to be complete. No driver call.
  [[nodiscard]] bool are_none_on(const Memory& memory) noexcept;
  /// Ids of allocations are unique in a process, and end with the context.
  [[nodiscard]] bool knows(const Memory& memory) const noexcept;
  /// Waits for pending writes and makes later writes synchronous, if possible. Requires the
  /// memory's context.
  [[nodiscard]] bool end_on(const Memory& memory) noexcept;
  /// Orders `stream` behind the current context's writes whose calls have returned early; sets
  /// *waits if writes are pending. If synchronous mode is refused, does nothing during a capture
  /// that forbids the legacy stream.
  [[nodiscard]] CUresult order_behind(CUstream stream, CUcontext current, bool* waits) noexcept;
  [[nodiscard]] bool empty() const noexcept { return since_.empty(); }
  [[nodiscard]] bool has_changed_context() noexcept {
    return changed_.load(std::memory_order_relaxed) && changed_.exchange(false);
  }
  /// Restores the flags of contexts. Requires the device's context. After the end of the context,
  /// forget() replaces destroy().
  void destroy() noexcept;
  void forget() noexcept;

 private:
  struct Since {
    CUevent event = nullptr;  // behind all earlier writes; null: happened
    bool ours = false;        // the application had not set the flag
    unsigned long long id = 0;
  };
  [[nodiscard]] std::optional<unsigned> flags() const noexcept;
  [[nodiscard]] CUresult record(CUevent* event) const noexcept;
  [[nodiscard]] bool keep(CUcontext of, const Since& since) noexcept;
  [[nodiscard]] unsigned long long id_of(CUcontext context) const noexcept;
  void restore(CUcontext context) noexcept;
  const Driver& driver_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, bool> synchronous_;  // by buffer id; false: refused
  std::unordered_map<CUcontext, Since> since_;
  std::atomic<bool> changed_{false};
};

}  // namespace tern::cuda

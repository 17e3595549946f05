// SPDX-License-Identifier: Apache-2.0
// Deaths: the failed processes known to this rank, with fault tolerance (TERN_FT).
// Order: as in the host's list (fault/board.hpp), so a count names a prefix. Threads: a single
// writer at a time, any readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "mpi.h"

namespace tern::core {

class Communicator;
struct Channel;
struct ContextId;

/// The processes of which a death ends the operations of a communicator.
enum class ErrorRange : uint8_t { kPartners, kGroup, kUniverse };

class FaultWatch {
 public:
  /// Holds for deaths after this call, and after admit(). Throws std::bad_alloc.
  virtual void set_range(Communicator& of, ErrorRange range) = 0;
  /// Another rank has revoked a communicator. The caller holds the channel's lock.
  virtual void heard_revoke(Channel& channel, const ContextId& id) noexcept = 0;
  /// A revocation or a death may precede the communicator's creation here. `held` is the channel
  /// whose lock the caller holds, or null.
  virtual void admit(Communicator& made, Channel* held) noexcept = 0;
  virtual void forget(const Communicator& ended) noexcept = 0;
  /// Asks the kernel.
  [[nodiscard]] virtual bool has_died(uint32_t peer_index) noexcept = 0;
  /// A transport has lost the peer. The caller holds a channel's lock.
  virtual void lost(uint32_t peer_index) noexcept = 0;

 protected:
  ~FaultWatch() = default;
};

class Deaths {
 public:
  /// Without admit(), a death ends the job. Throws std::bad_alloc.
  void admit(uint32_t most);
  [[nodiscard]] bool tolerated() const noexcept { return most_ != 0; }
  void add(uint32_t peer_index) noexcept;
  /// For a stranger that this rank met after the death.
  void rename(uint32_t position, uint32_t peer_index) noexcept { indices_[position] = peer_index; }
  void forget_all() noexcept;

  [[nodiscard]] uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t at(uint32_t position) const noexcept { return indices_[position]; }
  [[nodiscard]] bool has(uint32_t peer_index) const noexcept;
  /// The class for an operation with a lost peer.
  [[nodiscard]] int lost_class(int without_tolerance = MPI_ERR_PROC_ABORTED) const noexcept;

  FaultWatch* watch = nullptr;

 private:
  uint32_t most_ = 0;
  std::atomic<uint32_t> count_{0};
  std::unique_ptr<std::atomic<uint32_t>[]> indices_;
};

}  // namespace tern::core

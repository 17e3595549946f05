// SPDX-License-Identifier: Apache-2.0
// Descriptors of other processes of this host: taken by pidfd_getfd, or sent by their owner on
// request (letters.hpp).
// Why a request is not waited for: its owner answers at its next call with device memory, and may
// be waiting for this process until then. So the message at hand goes through the host, and the
// next from the same memory does not.
// Lifetime: what has come and was not taken is closed after some time. Threads: under the channel's
// lock. See: btl/cuda_ipc/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "base/fd.hpp"
#include "base/params.hpp"
#include "btl/cuda_ipc/letters.hpp"
#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

/// The ways that TERN_CUDA_IPC_DESCRIPTORS allows.
struct DescriptorWays {
  bool pidfd = true, socket = true;
};
[[nodiscard]] DescriptorWays descriptor_ways(DescriptorWay asked) noexcept;

/// A process that shares memory.
struct Owner {
  uint64_t process;  // process_id()
  int32_t pid;       // as it has it
  bool has_number;   // this process has it alike: both are of one PID namespace
};
[[nodiscard]] Owner owner_of(const MemoryHandle& handle) noexcept;

/// A descriptor of a peer's: its number there, and its row in the ledger (0 and stamp 0: of the
/// ledger itself).
struct Wanted {
  Owner owner;
  int32_t descriptor;
  uint64_t ledger;
  uint32_t row;
  uint64_t stamp;
};

class Descriptors {
 public:
  explicit Descriptors(DescriptorWays ways) noexcept : ways_(ways) {}
  /// None with a reason where it cannot be had, or not yet.
  [[nodiscard]] Fd take(const Wanted& wanted, std::string* why_not);
  /// Whether something was not there that its owner can send; forgotten by asking.
  [[nodiscard]] bool missed() const noexcept { return missed_; }
  /// Asks the owner of a handle for what is needed. *why_not is emptied where it will come.
  void ask(const MemoryHandle& handle, std::string* why_not);
  /// Takes what has come, and closes what was not taken for some time.
  void open_letters();
  /// Closes those of rows that are not there any more: they keep memory that was freed.
  using IsThere = std::function<bool(uint64_t ledger, uint32_t row, uint64_t stamp)>;
  void forget_withdrawn(const IsThere& is_there);

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;  // ledger, row, stamp
  struct Kept {
    Fd descriptor;
    int64_t since_ns;
  };
  const DescriptorWays ways_;
  std::optional<MailSocket> socket_;  // from the first request on
  std::map<Key, Kept> kept_;
  std::unordered_set<uint64_t> refused_;  // processes of which none can be taken
  int unanswered_ = 0;
  bool missed_ = false;
};

}  // namespace tern::btl::cuda_ipc

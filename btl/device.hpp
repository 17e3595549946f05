// SPDX-License-Identifier: Apache-2.0
// DeviceTransport: how one process reaches the device memory of another: a handle names the memory,
// the receiver maps it and copies. Why: one copy, by the device itself, wherever the two
// processes can share memory; where they cannot, the pml goes through the host. Life cycle: made
// with the transports; nothing is asked of the driver before the first device buffer. Ordering: a
// handle goes in the announcement of a message (pml/wire.hpp); what it names is not freed before
// the receiver has told that it is done. Threads: under the channel's lock. To add one: a folder
// that defines kDeviceTransport, its row in devices.cc, a Form for handles of its own. See:
// btl/README.md, tests/gpu/mpi/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/device.hpp"

namespace tern::core {
class Process;
}
namespace tern::btl {

/// A row of a process's ledger (cuda_ipc/ledger.hpp): it is cleared when the memory is withdrawn.
struct Listed {
  uint64_t ledger;     // its number
  int32_t descriptor;  // of its file, in that process
  uint32_t row;        // the first; 0: none
};

/// Names a block of device memory. Goes over the wire.
struct MemoryHandle {
  enum class Form : uint32_t {
    kNone,    // of use to its own process alone
    kLegacy,  // cuIpcGetMemHandle's handle
    kListed,  // mappings: what names them for the driver stands in the ledger
    kFabric,  // the same of one mapping, with its fabric handle
  };
  Form form;
  int32_t pid;         // as its own number domain has it
  uint64_t process;    // process_id(): by this processes are told apart
  uint64_t machine;    // machine_id()
  uint64_t domain;     // number_domain()
  uint64_t buffer_id;  // of the allocation in that process; another is other memory
  uint64_t base;       // of the allocation there, or of the first of several mappings
  uint64_t bytes;      // of it, or of all those mappings
  uint64_t address;    // of the block there
  cuda::Uuid device;
  Listed listed;
  unsigned char driver_handle[64];  // kLegacy, kFabric
};
static_assert(sizeof(MemoryHandle) == 160);
/// Whether the block begins within what the handle names. For a handle that came from elsewhere.
[[nodiscard]] inline bool is_sound(const MemoryHandle& handle) noexcept {
  return handle.base + handle.bytes >= handle.base && handle.address >= handle.base &&
         handle.address - handle.base < handle.bytes;
}

/// A peer's memory in this process, for the time of a transfer.
class MappedPeerMemory {
 public:
  virtual ~MappedPeerMemory() = default;
  std::byte* address = nullptr;  // of the handle's block
};

class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  /// Names memory for other processes: fills what the handle of a block of `bytes` does not have
  /// yet (its form, and what goes with it). False where this way cannot name it, with the reason
  /// and, where there is one, the cure; no reason where such memory is not its business.
  [[nodiscard]] virtual bool offer(cuda::Device& /*device*/, const cuda::Memory& /*memory*/,
                                   size_t /*bytes*/, MemoryHandle* /*handle*/,
                                   std::string* /*why_not*/) {
    return false;
  }
  /// The block of a handle, for copies by `device`; null where this way cannot reach it.
  [[nodiscard]] virtual std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                              cuda::Device& device) = 0;
  /// Gives back what is held of memory that is no more, as far as that can be seen: some of it,
  /// now and then, whatever else the rank does.
  virtual void look_after() noexcept {}
  /// Of the last handle that it could not reach; empty where such handles are not its business.
  [[nodiscard]] virtual std::string why_not() const { return {}; }
  /// The device reads something else there than its owner has: nothing of the two devices serves.
  [[nodiscard]] virtual bool found_wrong_data() const noexcept { return false; }
};

/// What a folder offers to the table of ways: each defines one, kDeviceTransport.
struct DeviceTransportRow {
  const char* name;
  std::unique_ptr<DeviceTransport> (*make)(core::Process& process);
};

/// Those of this build, in the order in which they are asked.
[[nodiscard]] std::span<const DeviceTransportRow* const> device_transports() noexcept;

/// All ways.
class Devices {
 public:
  explicit Devices(core::Process& process);
  ~Devices();
  /// Names memory for other processes; false where it cannot be shared as one block (it is said
  /// once, with the cure).
  [[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                           size_t bytes, MemoryHandle* handle) noexcept;
  /// Null where no device transport reaches it: said once.
  [[nodiscard]] std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                      cuda::Device& device) noexcept;
  /// In each round of progress. Costs next to nothing where it is not time.
  void look_after() noexcept {
    if (TERN_UNLIKELY(in_use_) && (++rounds_ & kRoundsBetweenClocks) == 0) look_if_time();
  }
  /// One device does not reach the memory of the other rightly: nothing of it is mapped any more.
  void avoid(const cuda::Uuid& device, const cuda::Uuid& of) { avoided_.push_back({device, of}); }
  [[nodiscard]] bool avoids(const cuda::Uuid& device, const cuda::Uuid& of) const noexcept {
    return std::find(avoided_.begin(), avoided_.end(), Avoided{device, of}) != avoided_.end();
  }

 private:
  struct Avoided {
    cuda::Uuid device, of;
    bool operator==(const Avoided&) const = default;
  };
  core::Process& process_;
  std::vector<std::unique_ptr<DeviceTransport>> ways_;
  void look_if_time() noexcept;
  void set_in_use() noexcept;
  static constexpr int64_t kPeriodUs = 10'000;
  static constexpr uint32_t kRoundsBetweenClocks = 7;
  std::vector<Avoided> avoided_;
  bool in_use_ = false;  // memory was offered or mapped
  uint32_t rounds_ = 0;
  int64_t next_look_ns_ = 0;
  bool told_offer_ = false, told_reach_ = false;
};

}  // namespace tern::btl

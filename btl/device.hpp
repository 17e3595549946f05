// SPDX-License-Identifier: Apache-2.0
// DeviceTransport: access to device memory of another process: a handle names the memory, and the
// receiver maps the memory and copies.
// Life cycle: makes no driver call before the first device buffer.
// Ordering: handles travel in the RTS (pml/wire.hpp). The sender keeps the memory until the
// receiver reports completion.
// Threads: under the channel's lock. See: btl/README.md, tests/gpu/mpi/.
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

/// A row of a process's ledger (cuda_ipc/ledger.hpp).
struct Listed {
  uint64_t ledger;
  int32_t descriptor;  // of the ledger's file, in the owner
  uint32_t row;
};

/// Sent byte for byte.
struct MemoryHandle {
  enum class HandleForm : uint32_t {
    kNone,  // valid in the owner only
    kLegacy,
    kListed,  // mappings named in the ledger
    kFabric,  // one such mapping with a fabric handle
  };
  HandleForm form;
  int32_t pid;  // in the owner's PID namespace
  uint64_t process;
  uint64_t machine;
  uint64_t domain;
  uint64_t buffer_id;  // a new allocation has a new id
  uint64_t base;       // of the allocation, or of the first of several mappings
  uint64_t bytes;      // of the allocation, or of all mappings
  uint64_t address;
  cuda::Uuid device;
  Listed listed;
  unsigned char driver_handle[64];
};
static_assert(sizeof(MemoryHandle) == 160);
/// Check for received handles: whether the block begins inside the named memory.
[[nodiscard]] inline bool is_sound(const MemoryHandle& handle) noexcept {
  return handle.base + handle.bytes >= handle.base && handle.address >= handle.base &&
         handle.address - handle.base < handle.bytes;
}

/// A peer's memory, mapped for one transfer.
class MappedPeerMemory {
 public:
  virtual ~MappedPeerMemory() = default;
  std::byte* address = nullptr;
};

class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  /// Fills a handle for `bytes`. On false, `why_not` has the reason, or is empty if this transport
  /// does not handle the memory.
  [[nodiscard]] virtual bool offer(cuda::Device& /*device*/, const cuda::Memory& /*memory*/,
                                   size_t /*bytes*/, MemoryHandle* /*handle*/,
                                   std::string* /*why_not*/) {
    return false;
  }
  [[nodiscard]] virtual std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                              cuda::Device& device) = 0;
  /// Releases some resources of freed memory.
  virtual void look_after() noexcept {}
  /// Reason of the last failed map(); empty if this transport does not handle such memory.
  [[nodiscard]] virtual std::string why_not() const { return {}; }
  /// The device has read data that differs from the owner's.
  [[nodiscard]] virtual bool found_wrong_data() const noexcept { return false; }
};

/// Each folder defines one, named kDeviceTransport.
struct DeviceTransportRow {
  const char* name;
  std::unique_ptr<DeviceTransport> (*make)(core::Process& process);
};

[[nodiscard]] std::span<const DeviceTransportRow* const> device_transports() noexcept;

/// All device transports of a channel.
class Devices {
 public:
  explicit Devices(core::Process& process);
  ~Devices();
  /// Returns false if the memory cannot be shared as one block; logged once.
  [[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                           size_t bytes, MemoryHandle* handle) noexcept;
  /// Null if no device transport reaches the memory; logged once.
  [[nodiscard]] std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                      cuda::Device& device) noexcept;
  void look_after() noexcept {
    if (TERN_UNLIKELY(in_use_) && (++rounds_ & kRoundsBetweenClocks) == 0) look_if_time();
  }
  /// Stops mapping memory of `of` on `device`.
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
  bool in_use_ = false;
  uint32_t rounds_ = 0;
  int64_t next_look_ns_ = 0;
  bool told_offer_ = false, told_reach_ = false;
};

}  // namespace tern::btl

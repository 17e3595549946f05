// SPDX-License-Identifier: Apache-2.0
// DeviceTransport: access to device memory of another process. A handle names the memory; the
// receiver maps the memory and copies.
// Life cycle: a transport makes no driver call before the first device buffer.
// Ordering: handles travel in the RTS (pml/wire.hpp). The sender keeps the memory until the
// receiver reports completion.
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

struct Listed {
  uint64_t ledger;
  int32_t descriptor;  // of the ledger's file, in the owner's process
  uint32_t row;
};

/// A MemoryHandle is sent byte for byte.
struct MemoryHandle {
  enum class HandleForm : uint32_t {
    kNone,  // valid in the owner only
    kLegacy,
    kListed,  // mappings named in the ledger
    kFabric,  // a mapping named in the ledger, with a fabric handle
  };
  HandleForm form;
  int32_t pid;  // in the owner's PID namespace
  uint64_t process;
  uint64_t machine;
  uint64_t domain;
  uint64_t buffer_id;  // a new allocation has a new id
  uint64_t base;       // of the allocation, or of the first of several mappings
  uint64_t bytes;
  uint64_t address;
  cuda::Uuid device;
  Listed listed;
  unsigned char driver_handle[64];
};
static_assert(sizeof(MemoryHandle) == 160);
/// is_sound() checks a received handle: the block must begin inside the named memory.
[[nodiscard]] inline bool is_sound(const MemoryHandle& handle) noexcept {
  return handle.base + handle.bytes >= handle.base && handle.address >= handle.base &&
         handle.address - handle.base < handle.bytes;
}

class MappedPeerMemory {
 public:
  virtual ~MappedPeerMemory() = default;
  std::byte* address = nullptr;
};

class DeviceTransport {
 public:
  virtual ~DeviceTransport() = default;
  /// offer() returns false with a reason, or with an empty reason if this transport does not handle
  /// the memory.
  [[nodiscard]] virtual bool offer(cuda::Device& /*device*/, const cuda::Memory& /*memory*/,
                                   size_t /*bytes*/, MemoryHandle* /*handle*/,
                                   std::string* /*why_not*/) {
    return false;
  }
  [[nodiscard]] virtual std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                              cuda::Device& device) = 0;
  virtual void look_after() noexcept {}
  /// why_not() explains the last failed map().
  [[nodiscard]] virtual std::string why_not() const { return {}; }
  [[nodiscard]] virtual bool found_wrong_data() const noexcept { return false; }
};

struct DeviceTransportRow {
  const char* name;
  std::unique_ptr<DeviceTransport> (*make)(core::Process& process);
};

[[nodiscard]] std::span<const DeviceTransportRow* const> device_transports() noexcept;

class Devices {
 public:
  explicit Devices(core::Process& process);
  ~Devices();
  [[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                           size_t bytes, MemoryHandle* handle) noexcept;
  /// Maps a peer's device memory. Null if no device transport reaches the memory; logged once.
  [[nodiscard]] std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                                      cuda::Device& device) noexcept;
  void look_after() noexcept {
    if (TERN_UNLIKELY(in_use_) && (++rounds_ & kRoundsBetweenClocks) == 0) look_if_time();
  }
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

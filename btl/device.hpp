// SPDX-License-Identifier: Apache-2.0
// DeviceWay: how one process reaches the device memory of another: a card names the memory, whoever
// receives it maps it and copies.
// Why: one copy, by the device itself, wherever the two processes can share memory; where they
// cannot, the pml goes through the host.
// Life cycle: made with the transports; nothing is asked of the driver before the first device
// buffer. Ordering: a card goes in the announcement of a message (pml/wire.hpp); what it names is
// not written or freed before the receiver has told that it is done.
// Threads: under the channel's lock.
// To add one: a folder, a row in Devices. See: btl/README.md, tests/unit/btl/devices_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/device.hpp"

namespace tern::core {
class Process;
}
namespace tern::btl {

/// Names a block of device memory. Goes over the wire.
struct MemoryCard {
  enum class Form : uint32_t { kNone, kLegacy, kDescriptor, kPool };
  Form form;
  int32_t pid;
  int32_t descriptor;  // in that process: of a mapping, or of the pool
  uint32_t reserved;
  uint64_t buffer_id;  // of the allocation in that process; another is other memory
  uint64_t base;       // of the allocation there
  uint64_t bytes;      // of it
  uint64_t address;    // of the block there
  cuda::Uuid device;
  unsigned char handle[64];
};
static_assert(sizeof(MemoryCard) == 128);

/// A peer's memory in this process, for the time of a transfer.
class Reached {
 public:
  virtual ~Reached() = default;
  std::byte* address = nullptr;  // of the card's block
};

class DeviceWay {
 public:
  virtual ~DeviceWay() = default;
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// The block of a card, for copies by `device`; null where this way cannot reach it.
  [[nodiscard]] virtual std::unique_ptr<Reached> reach(const MemoryCard& card,
                                                       cuda::Device& device) = 0;
};

/// The ways of this build, in the order in which they are asked.
class Devices {
 public:
  explicit Devices(core::Process& process);
  ~Devices();
  /// Names memory for other processes; false where it cannot be shared as one block (it is said
  /// once, with the cure).
  [[nodiscard]] bool offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                           size_t bytes, MemoryCard* card) noexcept;
  /// Null where no way reaches it: said once.
  [[nodiscard]] std::unique_ptr<Reached> reach(const MemoryCard& card,
                                               cuda::Device& device) noexcept;

 private:
  core::Process& process_;
  std::vector<std::unique_ptr<DeviceWay>> ways_;
  bool told_offer_ = false, told_reach_ = false;
};

}  // namespace tern::btl

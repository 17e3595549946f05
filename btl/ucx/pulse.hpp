// SPDX-License-Identifier: Apache-2.0
// Pulse: a registered word of this process. A peer writes to the word to learn whether the adapter
// of this host answers; a frame could need an answer of this process, which may compute or be
// stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "btl/ucx/worker.hpp"

namespace tern::btl::ucx {

class Pulse {
 public:
  /// Registration may fail; key() is then empty, and also on networks without registration.
  explicit Pulse(const std::shared_ptr<UcpContext>& context);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;
  [[nodiscard]] std::string key() const;
  [[nodiscard]] uint64_t word() const noexcept { return reinterpret_cast<uint64_t>(&word_); }

 private:
  uint64_t word_ = 0;
  std::unique_ptr<MemoryRegion> region_;
};

/// Registers 64 MiB for a moment if locked memory is limited. Throws Error.
void require_lockable_memory(const std::shared_ptr<UcpContext>& context);

/// Throws Error if UCX or all adapters refuse the allocation.
[[nodiscard]] std::unique_ptr<MemoryRegion> register_device(
    const std::shared_ptr<UcpContext>& context, const cuda::Memory& memory);

/// A published address is the length of the pulse's key, the key, the word's address, and UCX's
/// address.
struct PulseAndAddress {
  std::string key;
  uint64_t word = 0;
  std::string address;
};
[[nodiscard]] std::string packed(const PulseAndAddress& all);
/// Throws Error.
[[nodiscard]] PulseAndAddress unpacked(const std::string& bytes);

}  // namespace tern::btl::ucx

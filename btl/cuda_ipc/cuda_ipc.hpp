// SPDX-License-Identifier: Apache-2.0
// CudaIpc: device memory of other processes of this machine, mapped into this one.
// Cache: a mapping is kept for the next message from the same allocation, up to so many bytes, and
// is taken for it only while the allocation's buffer id is the same: memory that was freed and
// allocated again is mapped anew. Unmapping waits for everything on the device, so what is in use
// is never unmapped, and the rest only where room is needed.
// Threads: under the channel's lock. See: btl/device.hpp, tests/gpu/mpi/.
#pragma once

#include <list>
#include <string>

#include "btl/device.hpp"

namespace tern::btl::cuda_ipc {

/// An allocation of a peer's in the address space of this process.
struct Import {
  MemoryCard card;
  cuda::Device* device;
  CUdeviceptr base;
  int uses;
};

class CudaIpc final : public DeviceWay {
 public:
  explicit CudaIpc(size_t most_bytes) noexcept : most_bytes_(most_bytes) {}
  ~CudaIpc() override;
  const char* name() const noexcept override { return "cuda_ipc"; }
  std::unique_ptr<Reached> reach(const MemoryCard& card, cuda::Device& device) override;
  /// Of the last card that could not be reached.
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Bytes that are mapped; for tests.
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }

 private:
  /// Found by trying once: a peer's device that this one does not reach.
  struct Refused {
    int32_t pid;
    MemoryCard::Form form;
    cuda::Uuid device;
    const cuda::Device* by;
  };
  [[nodiscard]] bool refused(const MemoryCard& card, const cuda::Device& device) const noexcept;
  Import* find(const MemoryCard& card, const cuda::Device& device) noexcept;
  Import* open(const MemoryCard& card, cuda::Device& device);
  CUresult map(const MemoryCard& card, const cuda::Device& device, CUdeviceptr* base);
  CUresult map_descriptor(const MemoryCard& card, const cuda::Device& device, CUdeviceptr* base);
  void make_room(size_t bytes) noexcept;
  static void unmap(const Import& import) noexcept;

  const size_t most_bytes_;
  size_t bytes_ = 0;
  std::list<Import> imports_;  // the last used first
  std::vector<Refused> refused_;
  std::string why_not_;
};

}  // namespace tern::btl::cuda_ipc

// SPDX-License-Identifier: Apache-2.0
// Multicast: device memory of all ranks of a team, bound to one multicast object. At the multicast
// address a store reaches all ranks, and a load returns the reduction over all ranks, by NVLink
// switches (sm_90; "NVLS", NVLink SHARP).
// Making: all ranks finish a step before any starts the next (teams_multicast.cc), because binding
// blocks until all devices are added. The object's descriptor travels over sockets (base/mail.hpp).
// Lifetime: the team's. Threads: a single thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "coll/gpu/layout.hpp"
#include "cuda/device.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::coll {

class TeamMemory;

class Multicast {
 public:
  static constexpr int kParts = ScratchLayout::kReports;

  explicit Multicast(cuda::Device& device) noexcept : device_(device) {}
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  ~Multicast();

  [[nodiscard]] static std::string why_not(cuda::Device& device);
  [[nodiscard]] std::string create(int devices, size_t bytes, Fd* descriptor);
  /// join() imports the object of rank 0, with `bytes` from its bytes().
  [[nodiscard]] std::string join(const Fd& descriptor, size_t bytes);
  [[nodiscard]] std::string add_device();
  [[nodiscard]] std::string allocate();
  [[nodiscard]] std::string bind();
  [[nodiscard]] std::string map();
  [[nodiscard]] std::string try_out(const TeamMemory& memory, cuda::KernelReport* reports);

  /// No device work on any rank may use the object at end(), which may wait for all work on the
  /// device. The caller holds no lock.
  void end() noexcept;

  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  void set_blocks(int blocks) noexcept { blocks_ = blocks; }
  void limit_blocks(int places) noexcept { blocks_ = std::min(kParts, places); }
  [[nodiscard]] int blocks() const noexcept { return blocks_; }
  /// room() counts vectors of 16 bytes.
  [[nodiscard]] int64_t room() const noexcept {
    return static_cast<int64_t>((bytes_ - kStage) / sizeof(Vector));
  }
  [[nodiscard]] std::byte* stage(int64_t vector) const noexcept {
    return reinterpret_cast<std::byte*>(own_) + kStage +
           static_cast<size_t>(vector) * sizeof(Vector);
  }
  [[nodiscard]] cuda::MulticastArguments arguments(const TeamMemory& memory,
                                                   cuda::KernelReport* reports) const noexcept;

 private:
  struct Vector {
    std::byte bytes[16];
  };
  // Offsets of semaphores [part][rank], pass numbers [part], and the stage.
  static constexpr size_t kWords = 0;
  static constexpr size_t kNumbers = kWords + sizeof(uint32_t) * kParts * cuda::kMostRanks;
  static constexpr size_t kStage = kNumbers + 4096;

  cuda::Device& device_;
  size_t bytes_ = 0;
  int blocks_ = 0;
  bool bound_ = false;
  CUmemGenericAllocationHandle object_ = 0, memory_ = 0;
  bool has_object_ = false, has_memory_ = false;
  CUdeviceptr own_ = 0, all_ = 0;
};

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// DeviceReports: pinned memory of a team, where streams and kernels of the rank's device tell the
// host of passed calls and of waits for other ranks.
// Why: the host cannot ask a waiting stream or kernel, and a kernel that has given up leaves wrong
// data behind: the user must hear of this.
// Lifetime: of the team; the memory, from make() to give_back().
// Threads: any; the device writes, and the host calls no driver to read.
// See: cuda/kernels/wait.cuh.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "coll/gpu/layout.hpp"
#include "cuda/device.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::coll {

class DeviceReports {
 public:
  explicit DeviceReports(cuda::Device& device) noexcept : device_(device) {}
  DeviceReports(const DeviceReports&) = delete;
  DeviceReports& operator=(const DeviceReports&) = delete;

  /// A sentence on failure.
  [[nodiscard]] std::string make();
  [[nodiscard]] bool made() const noexcept { return pinned_ != nullptr; }
  void give_back() noexcept;
  /// Kernels without parts of the scratch report, too.
  void watch_all() noexcept { watched_ = ScratchLayout::kReports; }

  // For commands of the device.
  [[nodiscard]] cuda::KernelReport* kernels() const noexcept { return pinned_->kernels; }
  /// Of the lane of a set.
  [[nodiscard]] CUdeviceptr wait_word(int set) const noexcept {
    return at_ + static_cast<size_t>(set) * sizeof(uint32_t);
  }
  [[nodiscard]] CUdeviceptr passed_word() const noexcept { return at_ + offsetof(Pinned, passed); }

  /// The number of the last call passed by the device. After make().
  [[nodiscard]] uint32_t passed() const noexcept {
    return pinned_->passed.load(std::memory_order_acquire);
  }
  /// The number of a wait that a lane has reached; 0: no lane waits.
  [[nodiscard]] uint32_t wait_of_stream() const noexcept;
  struct Kernel {
    int part;
    cuda::KernelReport report;
  };
  /// Of a block at a wait now.
  [[nodiscard]] std::optional<Kernel> waiting() const noexcept;
  /// Of a block that gave up: a block with a wait in vain before blocks told to leave.
  [[nodiscard]] std::optional<Kernel> given_up() const noexcept;
  /// While no kernel is under way on any rank.
  void clear() noexcept;
  /// Tells the rank's own kernels to leave.
  void end_kernels() noexcept;

 private:
  struct Pinned {
    std::atomic<uint32_t> waits[ScratchLayout::kSets] = {};
    std::atomic<uint32_t> passed{0};
    cuda::KernelReport kernels[ScratchLayout::kReports] = {};
  };
  [[nodiscard]] std::optional<Kernel> find(uint32_t state) const noexcept;

  cuda::Device& device_;
  Pinned* pinned_ = nullptr;
  CUdeviceptr at_ = 0;  // for the device
  size_t bytes_ = 0;
  int watched_ = ScratchLayout::kParts;  // blocks of threads
};

}  // namespace tern::coll

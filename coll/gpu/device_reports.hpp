// SPDX-License-Identifier: Apache-2.0
// DeviceReports: a team's pinned memory, where this rank's streams and kernels report passed calls
// and waits.
// Why: the host cannot query a waiting stream or kernel.
// Lifetime: the team's; memory exists from make() to give_back(). Threads: any; no driver calls.
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

  [[nodiscard]] std::string make();
  [[nodiscard]] bool made() const noexcept { return pinned_ != nullptr; }
  void give_back() noexcept;

  [[nodiscard]] cuda::KernelReport* kernels() const noexcept { return pinned_->kernels; }
  [[nodiscard]] CUdeviceptr wait_word(int set) const noexcept {
    return at_ + static_cast<size_t>(set) * sizeof(uint32_t);
  }
  [[nodiscard]] CUdeviceptr passed_word() const noexcept { return at_ + offsetof(Pinned, passed); }

  /// passed() requires make().
  [[nodiscard]] uint32_t passed() const noexcept {
    return pinned_->passed.load(std::memory_order_acquire);
  }
  /// wait_of_stream() is 0 if no lane waits.
  [[nodiscard]] uint32_t wait_of_stream() const noexcept;
  struct Kernel {
    int part;
    cuda::KernelReport report;
  };
  [[nodiscard]] std::optional<Kernel> waiting() const noexcept;
  /// given_up() prefers a thread block that gave up by its own timeout.
  [[nodiscard]] std::optional<Kernel> given_up() const noexcept;
  /// All ranks' kernels must have ended before clear().
  void clear() noexcept;
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
  CUdeviceptr at_ = 0;  // device address
  size_t bytes_ = 0;
};

}  // namespace tern::coll

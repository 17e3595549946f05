// SPDX-License-Identifier: Apache-2.0
// Trials: a block with a known pattern per device, for peers to test their links. Why: on some
// machines (PCIe switches with access control, virtual machines) peer mappings work, but reads
// return wrong data. The owner fills a block of a quiet device and lists the block in the ledger. A
// peer maps and compares the block before other memory of the device. In a trial, the owner waits
// 20 ms for the fill of the block, and a peer 20 ms for the read of the block; both wait longer on
// busy cores. The waits are limited, because a kernel of another library may head the hardware
// queue and wait for messages of this rank. Threads: under the lock of Exports, or of the
// transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "cuda/device.hpp"

namespace tern::btl::cuda_ipc {

constexpr size_t kTrialBytes = 65536;
[[nodiscard]] std::vector<uint64_t> trial_pattern(uint64_t ledger);

class TrialCopy {
 public:
  /// `spare` restricts the copy to idle memory, because allocation waits for other work.
  TrialCopy(cuda::Device& device, bool spare);
  [[nodiscard]] bool ready() const noexcept { return aside_.valid() && pinned_.valid(); }
  void write(void* block, const std::vector<uint64_t>& pattern) noexcept;
  void read(const void* block) noexcept;
  [[nodiscard]] bool ends_soon() noexcept;
  [[nodiscard]] bool failed() const noexcept { return job_.failed(); }
  [[nodiscard]] bool has(const std::vector<uint64_t>& pattern) const noexcept;

 private:
  cuda::Loan aside_, pinned_;
  int64_t timeout_ = 0;
  int turns_ = 64;  // minimum of yields, since a yield on busy cores may last 20 ms
  cuda::Job job_;   // last member: its destructor waits for the copies
};

class Trials {
 public:
  Trials() = default;
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;
  void list(cuda::Device& device, Ledger& ledger) noexcept;
  void look_after(Ledger& ledger) noexcept;
  /// Call drop_unlisted() before a device ends: it frees the trial blocks still being filled.
  void drop_unlisted() noexcept;
  void end() noexcept;

 private:
  struct TrialBlock {
    cuda::Uuid device;
    const cuda::Driver* driver;
    CUcontext context;
    CUdeviceptr at = 0;
    uint64_t buffer_id = 0;
    int tries = 0;
    cuda::Device* fills = nullptr;
    std::byte* filled = nullptr;
    size_t filled_bytes = 0;
    std::unique_ptr<TrialCopy> filling = nullptr;
  };
  static void begin(cuda::Device& device, uint64_t ledger, TrialBlock* block);
  static void settle(Ledger& ledger, TrialBlock* block) noexcept;
  [[nodiscard]] static bool enter(Ledger& ledger, TrialBlock* block) noexcept;
  std::vector<TrialBlock> all_;
};

}  // namespace tern::btl::cuda_ipc

// SPDX-License-Identifier: Apache-2.0
// Trials: a block of each own device with a pattern known to peers, for a test of their links.
// Why: some machines (PCIe switches with access control, virtual machines) map memory of a peer,
// and reads there give other data. coll/flat/device_links.hpp tests links with all ranks of a
// communicator; a message has two ranks.
// How: the owner allocates a block of a quiet device and lists it in the ledger. The peer maps the
// block and compares the data, before other memory of the same device. Neither waits long for its
// copy: that may stand behind a kernel of another library, which waits for messages of this rank.
// Lifetime: Trials, of Exports; a TrialCopy until its work has ended. Threads: under the lock of
// Exports, or of the transport.
// See: tests/gpu/mpi/links_that_lie.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "cuda/device.hpp"

namespace tern::btl::cuda_ipc {

constexpr size_t kTrialBytes = 65536;
/// `ledger`: the number of the owner's ledger.
[[nodiscard]] std::vector<uint64_t> trial_pattern(uint64_t ledger);

/// Between a block of a device and pinned memory, by work that goes on beside its caller.
class TrialCopy {
 public:
  /// `spare`: in memory that the device has to spare, for an allocation waits for other work.
  TrialCopy(cuda::Device& device, bool spare);
  /// It has the memory.
  [[nodiscard]] bool ready() const noexcept { return aside_.valid() && pinned_.valid(); }
  void write(void* block, const std::vector<uint64_t>& pattern) noexcept;
  /// By way of the device's own memory, as kernels read it.
  void read(const void* block) noexcept;
  /// Whether it has ended; in the first 20 ms this waits.
  [[nodiscard]] bool ends_soon() noexcept;
  [[nodiscard]] bool failed() const noexcept { return job_.failed(); }
  /// What was read is this.
  [[nodiscard]] bool has(const std::vector<uint64_t>& pattern) const noexcept;

 private:
  cuda::Loan aside_, pinned_;
  int64_t patience_ = 0;  // ns
  cuda::Job job_;         // the last: its end waits for what uses the others
};

class Trials {
 public:
  Trials() = default;
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;
  /// Lists a block of this device once. A busy device is tried again a few times.
  void list(cuda::Device& device, Ledger& ledger) noexcept;
  /// Lists blocks whose copies were under way.
  void look_after(Ledger& ledger) noexcept;
  /// Before a device ends: waits for its copies.
  void drop_unlisted() noexcept;
  /// Gives the listed blocks back. Rows end with the ledger.
  void end() noexcept;

 private:
  struct Block {
    cuda::Uuid device;
    const cuda::Driver* driver;
    CUcontext context;
    CUdeviceptr at = 0;
    uint64_t buffer_id = 0;
    int tries = 0;
    cuda::Device* fills = nullptr;  // the block, which is not listed yet
    std::byte* filled = nullptr;
    size_t filled_bytes = 0;
    std::unique_ptr<TrialCopy> filling = nullptr;
  };
  static void begin(cuda::Device& device, uint64_t ledger, Block* block);
  static void settle(Ledger& ledger, Block* block) noexcept;
  [[nodiscard]] static bool enter(Ledger& ledger, Block* block) noexcept;
  std::vector<Block> all_;
};

}  // namespace tern::btl::cuda_ipc

// SPDX-License-Identifier: Apache-2.0
// Trials: a block of each own device with a pattern known to peers, for a test of their links.
// Why: some machines (PCIe switches with access control, virtual machines) map memory of a peer,
// and reads there give other data. coll/flat/device_links.hpp tests links with all ranks of a
// communicator; a message has two ranks.
// How: the owner allocates a block of a quiet device and lists it in the ledger. The peer maps the
// block and compares the data, before other memory of the same device. Lifetime: of Exports.
// Threads: under the lock of Exports.
// See: tests/gpu/mpi/links_that_lie.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "btl/cuda_ipc/ledger.hpp"
#include "cuda/device.hpp"

namespace tern::btl::cuda_ipc {

constexpr size_t kTrialBytes = 65536;
/// `ledger`: the number of the owner's ledger.
[[nodiscard]] std::vector<uint64_t> trial_pattern(uint64_t ledger);

class Trials {
 public:
  Trials() = default;
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;
  /// Lists a block of this device once. A busy device is tried again a few times.
  void list(cuda::Device& device, Ledger& ledger) noexcept;
  /// Gives the blocks back. Rows end with the ledger.
  void end() noexcept;

 private:
  struct Block {
    cuda::Uuid device;
    const cuda::Driver* driver;
    CUcontext context;
    CUdeviceptr at = 0;
    uint64_t buffer_id = 0;
    int tries = 0;
  };
  [[nodiscard]] static bool fill(cuda::Device& device, CUdeviceptr at, uint64_t ledger);
  std::vector<Block> all_;
};

}  // namespace tern::btl::cuda_ipc

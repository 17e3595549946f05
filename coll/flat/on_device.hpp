// SPDX-License-Identifier: Apache-2.0
// OnDevice: reductions of ranks that share one GPU: each rank's kernel reads its slice of all
// ranks' inputs, which it has mapped, and the result is copied to the ranks that need it.
// Why: one pass over the data at the memory's own rate, and no process waits for another inside a
// kernel: phases end on the host (docs: on a shared GPU kernels of two processes may never run at
// the same time).
// Order: operands are taken in the order of ranks: the same bits everywhere.
// Cost: epochs of slots: one to learn whether any rank has device memory, one where all have mapped
// all, one when all are done.
// Lifetime: of one call. Threads: under the channel's lock. See: coll/flat/README.md.
#pragma once

#include <memory>
#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/flat/slots.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class OnDevice {
 public:
  OnDevice(const Operation& operation, Slots& slots, pml::Pml& pml);
  enum class Met : uint8_t {
    kHost,      // no rank has device memory
    kMessages,  // some rank has, and a schedule must do it
    kTogether,  // run()
  };
  /// An epoch or two of all ranks, which come to the same.
  [[nodiscard]] Met meet();
  /// 0, or an error class with fail() text.
  [[nodiscard]] int run();

 private:
  struct Post {
    uint32_t on_device, able, leader, reserved;
    pml::MemoryHandle input, output;
  };
  struct Range {
    MPI_Count first, count;  // elements
  };
  void prepare(Post& mine);
  [[nodiscard]] bool name(const core::Data& data, pml::MemoryHandle* handle);
  [[nodiscard]] bool all_fit() const noexcept;
  [[nodiscard]] bool map_all() noexcept;
  [[nodiscard]] bool agree(bool mine);
  [[nodiscard]] Range own_range() const noexcept;
  void reduce(const Range& range) noexcept;
  void spread(const Range& range, const std::byte* result) noexcept;
  [[nodiscard]] int end_together(int code);
  [[nodiscard]] std::byte* output_of(int rank) const noexcept;
  [[nodiscard]] const Post& post_of(int rank) const noexcept {
    return posts_[static_cast<size_t>(rank)];
  }

  const Operation& operation_;
  Slots& slots_;
  pml::Pml& pml_;
  core::Process& process_;
  const int rank_, ranks_;
  std::vector<Post> posts_;
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> inputs_, outputs_;  // by rank; null: the own
  cuda::Block aside_;
  cuda::Job job_;
};

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// OnDevice: large collectives of data on devices with peer access (a shared GPU, or a GPU per
// rank): all ranks map all buffers, kernels reduce from them, readers copy. Phases end on the host,
// since kernels of two processes on a shared GPU may never run concurrently. Epochs: the first
// finds device memory, the second follows when all ranks have mapped the buffers, the last ends the
// call; broadcasts have another epoch.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/flat/device_links.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/view.hpp"
#include "coll/flat/where.hpp"
#include "pml/pml.hpp"
#include "topo/islands.hpp"

namespace tern::coll {

class OnDevice {
 public:
  OnDevice(const Operation& operation, Slots& slots, pml::Pml& pml, DeviceLinks& links);
  [[nodiscard]] static bool takes(Collective what) noexcept;
  /// meet() has the same result on all ranks. kSome: a schedule must serve; kAll: call run().
  [[nodiscard]] Where meet();
  [[nodiscard]] int run();
  /// islands() returns group names by rank after kSome, outermost level first: ranks with peer
  /// access, ranks on one device.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& islands() const noexcept {
    return islands_;
  }
  [[nodiscard]] bool shares_one() const noexcept;

 private:
  struct Post {
    uint32_t on_device, able, leader, reserved;
    uint64_t bytes;                   // vector or block
    pml::MemoryHandle input, output;  // read; written, or read later
  };
  struct Sides {
    bool reads, writes;
    int in_blocks, out_blocks;
  };
  struct Agreed {
    bool all;
    bool tried;  // no device pair is new
    std::array<uint64_t, 4> reached;
  };
  static constexpr int kMostInIslands = 256;

  [[nodiscard]] bool prepare(Post* mine);
  [[nodiscard]] bool prepare_reduction(Post* mine);
  [[nodiscard]] bool prepare_moves(Post* mine);
  [[nodiscard]] Sides sides() const noexcept;
  [[nodiscard]] bool name_for_others(const Sides& own, Post* mine);
  [[nodiscard]] bool take(const core::Data& data);
  [[nodiscard]] bool name(const void* address, size_t bytes, pml::MemoryHandle* handle);

  [[nodiscard]] bool all_fit() const noexcept;
  [[nodiscard]] bool needs_input(int rank) const noexcept;
  [[nodiscard]] bool needs_output(int rank) const noexcept;
  [[nodiscard]] bool map_all() noexcept;
  [[nodiscard]] bool map_one(int rank) noexcept;
  [[nodiscard]] Agreed agree(bool mine);
  void find_islands(const topo::Reach& reach);
  [[nodiscard]] bool try_links();

  void work();
  void reduce(const ElementRange& range) noexcept;
  void move() noexcept;
  void move_slices() noexcept;
  [[nodiscard]] ElementRange own_range() const noexcept;
  [[nodiscard]] ElementRange slice(int rank, MPI_Count count) const noexcept;
  /// Waits for the job on all ranks. A failure fails all ranks.
  [[nodiscard]] int end_phase(int code);
  [[nodiscard]] int end_together(int code);

  [[nodiscard]] bool moves() const noexcept { return operation_.op == nullptr; }
  [[nodiscard]] bool hands_on() const noexcept;
  [[nodiscard]] const std::byte* input_of(int rank) const noexcept;
  [[nodiscard]] std::byte* output_of(int rank) const noexcept;
  [[nodiscard]] const Post& post_of(int rank) const noexcept {
    return posts_[static_cast<size_t>(rank)];
  }

  const Operation& operation_;
  Slots& slots_;
  pml::Pml& pml_;
  DeviceLinks& links_;
  core::Process& process_;
  const int rank_, ranks_;
  const View in_, out_;
  std::vector<Post> posts_;
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> inputs_,
      outputs_;  // indexed by rank; null for this rank
  std::array<uint64_t, 4> reached_{};
  std::vector<std::vector<int64_t>> islands_;
  cuda::Block aside_;
  cuda::Job job_;
};

}  // namespace tern::coll

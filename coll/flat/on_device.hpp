// SPDX-License-Identifier: Apache-2.0
// OnDevice: large collectives of ranks whose data lies on devices that reach each other (one GPU
// that they share, or one for each rank): all map the buffers of all, kernels reduce from there,
// and what is only moved is copied by those who read it.
// Why: one pass over the data at the rate of the memory or of the links, nothing of it through the
// host; and no process waits for another inside a kernel: phases end on the host (on a shared GPU
// kernels of two processes may never run at the same time).
// Order: operands are taken in the order of ranks: the same bits everywhere.
// Cost: epochs of slots: one to learn whether any rank has device memory, one where all have mapped
// all, one when all are done; of a broadcast one more. The first time that two devices meet they
// are tried (device_links.hpp).
// Lifetime: of one call. Threads: under the channel's lock. See: coll/flat/README.md.
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
  /// An epoch or more of all ranks, which come to the same. kSome: a schedule must do it; kAll:
  /// run().
  [[nodiscard]] Where meet();
  /// 0, or an error class with fail() text.
  [[nodiscard]] int run();
  /// After kSome of a collective in which all read from all: levels of names of groups, by
  /// rank, outermost first: ranks that reach each other's devices, and those that share one. Alike
  /// on all ranks; empty where nothing is known.
  [[nodiscard]] const std::vector<std::vector<int64_t>>& islands() const noexcept {
    return islands_;
  }
  /// Whether all ranks share one device: after meet().
  [[nodiscard]] bool shares_one() const noexcept;

 private:
  struct Post {
    uint32_t on_device, able, leader, reserved;
    uint64_t bytes;                   // of the vector, or of a block
    pml::MemoryHandle input, output;  // what others read; what they write, or read afterwards
  };
  struct Range {
    MPI_Count first, count;  // elements
  };
  /// Which sides this rank has, and their blocks.
  struct Sides {
    bool reads, writes;
    int in_blocks, out_blocks;
  };
  struct Agreed {
    bool all;                         // every rank says yes
    bool tried;                       // no rank has met a device for the first time
    std::array<uint64_t, 4> reached;  // a bit for each rank whose memory is mapped here
  };
  static constexpr int kMostInIslands = 256;

  // Before the first epoch. False where this rank's buffers do not serve.
  [[nodiscard]] bool prepare(Post* mine);
  [[nodiscard]] bool prepare_reduction(Post* mine);
  [[nodiscard]] bool prepare_moves(Post* mine);
  [[nodiscard]] Sides sides() const noexcept;
  [[nodiscard]] bool name_for_others(const Sides& own, Post* mine);
  /// The job becomes that of the data's device; later ones only settle.
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
  void reduce(const Range& range) noexcept;
  void spread(const Range& range, const std::byte* result) noexcept;
  void move() noexcept;
  void move_slices() noexcept;
  [[nodiscard]] Range own_range() const noexcept;
  [[nodiscard]] Range slice(int rank, MPI_Count count) const noexcept;
  /// Ends a phase: the job has ended on all ranks. A failure is everybody's.
  [[nodiscard]] int end_phase(int code);
  [[nodiscard]] int end_together(int code);

  [[nodiscard]] bool moves() const noexcept { return operation_.op == nullptr; }
  /// A broadcast between devices: each rank hands on a slice.
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
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> inputs_, outputs_;  // by rank; null: the own
  std::array<uint64_t, 4> reached_{};
  std::vector<std::vector<int64_t>> islands_;
  cuda::Block aside_;
  cuda::Job job_;
};

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// TeamMemory: device memory of one layout on each rank of a team, mapped by all ranks and tried.
// Why: work of the own device reaches each rank's memory at an address known before the first call.
// Lifetime: of the team; the memory, from take() to give_back(). Memory of a twin (GpuTeam::twin)
// lies behind another team's.
// Threads: the caller holds the team's mutex; end_waits() by one thread at a time.
// See: coll/gpu/layout.hpp; tests/gpu/mpi/stream_between_devices.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/gpu/layout.hpp"
#include "cuda/device.hpp"
#include "cuda/exportable.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class TeamMemory {
 public:
  TeamMemory(int ranks, int rank, cuda::Device& device);
  TeamMemory(const TeamMemory&) = delete;
  TeamMemory& operator=(const TeamMemory&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return layout_.ranks; }
  [[nodiscard]] cuda::Device& device() const noexcept { return device_; }
  [[nodiscard]] const ScratchLayout& layout() const noexcept { return layout_; }
  /// A place in a rank's scratch, for work of the own device.
  [[nodiscard]] std::byte* at(int rank, size_t offset) const noexcept {
    return bases_[static_cast<size_t>(rank)] + offset;
  }
  /// The same for a kernel's arguments.
  void write_bases(const char** bases) const noexcept {
    for (std::byte* const base : bases_) *bases++ = reinterpret_cast<const char*>(base);
  }

  // Each returns an empty sentence, or the reason why this rank fails.
  /// With `more` bytes behind; `plain`: by cuMemAlloc, without a descriptor.
  [[nodiscard]] std::string take(const ScratchLayout& layout, size_t more, bool plain);
  /// Not from the driver, but in the memory behind the other's layout, as far as `other` is mapped.
  void lie_behind(const TeamMemory& other, const ScratchLayout& layout) noexcept;
  /// Waits for all work on the device: no lock may be held.
  [[nodiscard]] std::string prepare_words();
  [[nodiscard]] std::string offer(pml::Pml& pml, pml::MemoryHandle* handle) const;
  /// Gives the scratch of another rank; null: this rank does not reach the scratch.
  using Mapper = std::function<std::unique_ptr<pml::MappedPeerMemory>(int rank)>;
  [[nodiscard]] std::string map(const Mapper& map_of);
  /// Writes a pattern into the scratch of all others.
  [[nodiscard]] std::string write_trial();
  /// Whether the patterns of all others have come, by copies and words.
  [[nodiscard]] std::string read_trial();
  /// While no kernel is under way on any rank.
  [[nodiscard]] std::string clear_abort();

  /// A bit for each rank whose scratch is mapped here.
  [[nodiscard]] uint64_t mapped() const noexcept;
  void unmap() noexcept { mapped_.clear(); }
  /// Ends every wait of this rank's streams and kernels, by work in a stream of its own.
  void end_waits() noexcept;
  /// Whether take() has memory that is not given back.
  [[nodiscard]] bool taken() const noexcept { return scratch_.address != 0; }
  /// In the device's context. Waits for all work on the device.
  void give_back() noexcept;

 private:
  const int rank_;
  cuda::Device& device_;
  ScratchLayout layout_;
  cuda::Exportable scratch_;
  size_t bytes_ = 0;                                            // taken
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> mapped_;  // by rank; null: the own
  std::vector<std::byte*> bases_;
  cuda::Stream* rescue_ = nullptr;
};

}  // namespace tern::coll

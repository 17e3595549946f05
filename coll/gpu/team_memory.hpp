// SPDX-License-Identifier: Apache-2.0
// TeamMemory: the scratch of a team: device memory of equal layout on all ranks, mapped and tested
// by all ranks.
// Lifetime: the team's; memory exists from take() to give_back(). A twin's memory (GpuTeam::twin)
// lies behind another team's.
// Threads: the caller holds the team's mutex; a single thread calls end_waits().
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
  [[nodiscard]] std::byte* at(int rank, size_t offset) const noexcept {
    return bases_[static_cast<size_t>(rank)] + offset;
  }
  void write_bases(const char** bases) const noexcept {
    for (std::byte* const base : bases_) *bases++ = reinterpret_cast<const char*>(base);
  }

  // take() allocates `more` bytes behind the scratch; `plain` uses cuMemAlloc, without a
  // descriptor.
  [[nodiscard]] std::string take(const ScratchLayout& layout, size_t more, bool plain);
  void lie_behind(const TeamMemory& other, const ScratchLayout& layout) noexcept;
  /// prepare_words() waits for all work on the device; the caller holds no lock.
  [[nodiscard]] std::string prepare_words();
  [[nodiscard]] std::string offer(pml::Pml& pml, pml::MemoryHandle* handle) const;
  /// A Mapper returns null if this rank cannot map the scratch.
  using Mapper = std::function<std::unique_ptr<pml::MappedPeerMemory>(int rank)>;
  [[nodiscard]] std::string map(const Mapper& map_of);
  [[nodiscard]] std::string write_trial();
  [[nodiscard]] std::string read_trial();
  /// All ranks' kernels must have ended before clear_abort().
  [[nodiscard]] std::string clear_abort();

  [[nodiscard]] uint64_t mapped() const noexcept;
  void unmap() noexcept { mapped_.clear(); }
  void end_waits() noexcept;
  [[nodiscard]] bool taken() const noexcept { return scratch_.address != 0; }
  /// give_back() requires the device's context, and waits for all work on the device.
  void give_back() noexcept;

 private:
  const int rank_;
  cuda::Device& device_;
  ScratchLayout layout_;
  cuda::Exportable scratch_;
  size_t bytes_ = 0;
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> mapped_;
  std::vector<std::byte*> bases_;
  cuda::Stream* rescue_ = nullptr;
};

}  // namespace tern::coll

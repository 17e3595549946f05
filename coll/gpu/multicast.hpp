// SPDX-License-Identifier: Apache-2.0
// Multicast: memory of a rank's device that is bound, with that of all ranks of a team, to one
// multicast object: at a further address a store reaches all of them, and a load gives what they
// reduce to, made by the switches of NVLink (sm_90; "NVLS", NVLink SHARP).
// Why beside the scratch: what is bound is a piece of memory of its own, of the granularity of such
// objects; a team does without where there is no switch.
// How it is made: by all ranks together (teams_multicast.cc), each step on all ranks before the
// next on any: binding waits for all devices, for good where one does not come. The object's
// descriptor goes over sockets (base/mail.hpp), for it has no address by which other memory is
// named. Lifetime: of the team; what is bound is withdrawn in end(), when no rank uses it any more.
// Threads: one. See: cuda/kernels/multicast.cuh, coll/gpu/multicast_run.hpp;
// tests/gpu/mpi/stream_multicast.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "coll/gpu/layout.hpp"
#include "cuda/device.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::coll {

class TeamMemory;

class Multicast {
 public:
  static constexpr int kParts = ScratchLayout::kReports;  // blocks of threads at most

  explicit Multicast(cuda::Device& device) noexcept : device_(device) {}
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;
  ~Multicast();

  // The steps of making it; each an empty sentence, or why it failed on this rank.
  /// What the device or its driver lacks.
  [[nodiscard]] static std::string why_not(cuda::Device& device);
  /// By one rank: an object for so many devices, `bytes` or more of each; its descriptor.
  [[nodiscard]] std::string create(int devices, size_t bytes, Fd* descriptor);
  /// By the others, with the bytes() of the one that made it.
  [[nodiscard]] std::string join(const Fd& descriptor, size_t bytes);
  [[nodiscard]] std::string add_device();
  [[nodiscard]] std::string allocate();
  [[nodiscard]] std::string bind();
  [[nodiscard]] std::string map();
  /// An allreduce of some words in the team's memory, by all blocks of threads: whether the sum is
  /// right.
  [[nodiscard]] std::string try_out(const TeamMemory& memory, cuda::KernelReport* reports);

  /// Gives back what it has, when no work of the device uses it. The driver may wait for all work
  /// of the device: no lock may be held.
  void end() noexcept;

  /// Alike on all ranks.
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  void set_blocks(int blocks) noexcept { blocks_ = blocks; }
  /// So many places are the team's on every rank's device.
  void limit_blocks(int places) noexcept { blocks_ = std::min(kParts, places); }
  /// Of threads, resident together on every rank's device.
  [[nodiscard]] int blocks() const noexcept { return blocks_; }
  /// Vectors of 16 bytes that the stage holds.
  [[nodiscard]] int64_t room() const noexcept {
    return static_cast<int64_t>((bytes_ - kStage) / sizeof(Vector));
  }
  /// In the own stage.
  [[nodiscard]] std::byte* stage(int64_t vector) const noexcept {
    return reinterpret_cast<std::byte*>(own_) + kStage +
           static_cast<size_t>(vector) * sizeof(Vector);
  }
  /// What does not depend on the call; room for one pass of nothing.
  [[nodiscard]] cuda::MulticastArguments arguments(const TeamMemory& memory,
                                                   cuda::KernelReport* reports) const noexcept;

 private:
  struct Vector {
    std::byte bytes[16];
  };
  // Words of each part and rank, the numbers of parts, the stage.
  static constexpr size_t kWords = 0;
  static constexpr size_t kNumbers = kWords + sizeof(uint32_t) * kParts * cuda::kMostRanks;
  static constexpr size_t kStage = kNumbers + 4096;

  cuda::Device& device_;
  size_t bytes_ = 0;
  int blocks_ = 0;
  bool bound_ = false;
  CUmemGenericAllocationHandle object_ = 0, memory_ = 0;  // 0: none
  bool has_object_ = false, has_memory_ = false;
  CUdeviceptr own_ = 0, all_ = 0;  // mapped
};

}  // namespace tern::coll

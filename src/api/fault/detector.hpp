// SPDX-License-Identifier: Apache-2.0
// Detector: finds the deaths of this host's processes with fault tolerance, and ends the operations
// that wait for dead processes.
// How: a process has failed if the kernel says that the process has ended without leaving MPI.
// mpirun's question wakes all ranks after a death; without mpirun, ranks look every 50 ms. A rank
// appends to the host's list, and all ranks follow the list in its order.
// Cost: a waiting rank reads two words per round.
// Threads: any; poll() has the channel's lock.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/shared_file.hpp"
#include "boot/boot.hpp"
#include "core/process.hpp"
#include "fault/host_memory.hpp"

namespace tern::api {

class Detector {
 public:
  /// The lowest process of the host publishes the memory. Throws Error.
  explicit Detector(core::Process& process);
  /// After a fence of all ranks. Throws Error.
  void enter();
  /// Waits until each process of the host has called leave() or has died. Progresses messages.
  void leave() noexcept;

  [[nodiscard]] bool entered() const noexcept { return memory_.valid(); }
  [[nodiscard]] const fault::HostMemory& memory() const noexcept { return memory_; }
  [[nodiscard]] uint32_t own() const noexcept { return own_; }
  [[nodiscard]] const core::Deaths& deaths() const noexcept { return process_.deaths; }
  /// Returns the member of the host with a peer index, or -1.
  [[nodiscard]] int member_of(uint32_t peer_index) const noexcept;
  /// Numbers of processes in the host's list; a stranger's is a hash of world and rank.
  [[nodiscard]] uint32_t number_of(uint32_t peer_index) const noexcept;
  /// Asks the kernel about a process of this host, the launcher about others.
  [[nodiscard]] bool finds_dead(uint32_t peer_index) noexcept;
  /// A transport has lost the process, of another host or world.
  void add(uint32_t peer_index) noexcept;

  /// Returns the number of deaths taken.
  int poll(core::Channel& channel) noexcept;

 private:
  void await_others() noexcept;
  void ask_launcher() noexcept;
  [[nodiscard]] uint32_t peer_of(uint32_t number) const;
  void look(core::Channel& channel) noexcept;
  void look_at_strangers(core::Channel& channel) noexcept;
  void append(uint32_t number) noexcept;
  void name_late(uint32_t peer_index) noexcept;
  int bury_late(core::Channel& channel) noexcept;
  [[nodiscard]] bool is_due(const core::Progress& progress) noexcept;
  [[nodiscard]] bool has_died(uint32_t member) const noexcept;
  void bury(core::Channel& channel, uint32_t peer_index) noexcept;

  core::Process& process_;
  const uint32_t own_;
  Fd file_;
  OfferedFile offered_;
  fault::HostMemory memory_;
  FutexWord question_;
  std::shared_ptr<boot::DeathNews> news_;
  std::mutex looking_;
  std::atomic<uint32_t> asked_{0};
  std::atomic<int64_t> next_look_ns_{0};
  std::array<uint32_t, core::Process::kMostChannels> buried_{};
  // Strangers that this rank met after their deaths were listed.
  std::vector<uint32_t> late_;
  std::atomic<size_t> late_count_{0};
  std::array<size_t, core::Process::kMostChannels> buried_late_{};
};

}  // namespace tern::api

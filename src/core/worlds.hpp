// SPDX-License-Identifier: Apache-2.0
// Worlds: the other MPI_COMM_WORLDs that this process has met (MPI_Comm_spawn, connect, join).
// Why: a process is a (world, rank); peer indices of strangers follow those of the own world.
// Threads: any.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tern::core {

class PeerTable;

/// ProcessName is equal in all processes, and orders processes of several worlds.
struct ProcessName {
  uint64_t world = 0;  // a hash of the job's id
  uint32_t rank = 0;
  auto operator<=>(const ProcessName&) const = default;
};

class Worlds {
 public:
  explicit Worlds(PeerTable& peers) noexcept : peers_(peers) {}

  /// Numbers 1 to 255 name worlds in frames. The members of a meeting choose equal
  /// numbers.
  static constexpr size_t kNumbers = 256;
  using Numbers = std::bitset<kNumbers>;
  /// A process shares memory with at most this many strangers.
  static constexpr size_t kMostSharing = 256;
  [[nodiscard]] Numbers used() const;
  void set_own(uint64_t hash, int size) noexcept {
    own_ = hash;
    size_ = static_cast<uint32_t>(size);
  }
  [[nodiscard]] uint64_t own() const noexcept { return own_; }

  struct Stranger {
    ProcessName name;
    uint32_t number = 0;  // of the stranger's world at this process
    uint32_t there = 0;   // of this process's world at the stranger
    uint64_t host = 0;    // equal numbers: the same host
    int ranks_there = 0;  // of the stranger's world, on its host
    bool shares_memory = false;
  };
  struct Admitted {
    uint32_t index = 0;
    bool is_new = false;
  };
  /// Holds the stranger. Nothing if another meeting has taken the number for another world.
  std::optional<Admitted> admit(const Stranger& stranger);
  [[nodiscard]] std::optional<uint32_t> find(uint32_t number, uint32_t rank) const;
  [[nodiscard]] std::optional<uint32_t> find(const ProcessName& name) const;
  [[nodiscard]] ProcessName name_of(uint32_t index) const;
  /// The node in the own world of processes on this host.
  void know_host(uint64_t host, int node);
  /// For strangers. Nodes without a known rank of the own world are negative.
  [[nodiscard]] int node_of(uint32_t index) const;
  /// The hashes of all other worlds, each once.
  [[nodiscard]] std::vector<uint64_t> known() const;
  /// The ranks of the other worlds on a host.
  [[nodiscard]] int ranks_on(uint64_t host) const;
  [[nodiscard]] size_t sharing_memory() const;
  [[nodiscard]] bool any() const noexcept { return any_; }
  [[nodiscard]] bool is_stranger(uint32_t index) const noexcept { return index >= size_; }

  /// Counts the communicators with strangers, and meetings.
  void hold(const std::vector<uint32_t>& strangers);
  void let_go(const std::vector<uint32_t>& strangers);
  /// Those without communicator, each once.
  [[nodiscard]] std::vector<uint32_t> take_unheld(const std::vector<uint32_t>& strangers);
  void forget(uint32_t index);
  [[nodiscard]] std::vector<uint32_t> all() const;

 private:
  [[nodiscard]] bool is_taken(const Stranger& stranger) const;

  struct Known {
    Stranger stranger;
    int held = 0;
    bool taken = false;
  };
  PeerTable& peers_;
  uint32_t size_ = 1;  // of the own world
  mutable std::mutex mutex_;
  uint64_t own_ = 0;
  std::atomic<bool> any_{false};
  uint32_t made_ = 0;  // strangers; indices do not return, as user groups keep them
  std::map<uint32_t, Known> by_index_;
  std::map<ProcessName, uint32_t> by_name_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_number_;
  std::map<uint64_t, int> nodes_;  // by host
};

}  // namespace tern::core

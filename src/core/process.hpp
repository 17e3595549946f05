// SPDX-License-Identifier: Apache-2.0
// Process: all state of one rank.
// Why: N ranks can be N threads of one unit test; no other mutable state is global. Lifetime:
// api::Instance. api::Runtime creates and ends boot, pml and coll.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/explain.hpp"
#include "base/params.hpp"
#include "core/channel.hpp"
#include "core/deaths.hpp"
#include "core/handle.hpp"
#include "core/peer.hpp"
#include "core/worlds.hpp"
#include "cuda/device.hpp"

namespace tern::boot {
class Boot;
}
namespace tern::stream {
class Proxy;
}
namespace tern::core {

class Communicator;
class Datatype;
class ErrorHandler;
class PredefinedTypes;
class PredefinedOps;

enum class ThreadLevel : int { kSingle, kFunneled, kSerialized, kMultiple };

class Process {
 public:
  Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  Params params;
  Explain explain;
  HandleTable handles;

  int world_rank = 0;
  int world_size = 1;
  struct Node {
    int ranks = 1;
    int strangers = 0;            // ranks of other worlds on this host
    int cpus = 1;                 // shared by the ranks of this host
    bool oversubscribed = false;  // more ranks than cores: no thread spins
    int numa = -1;                // -1: unknown, or few ranks on this host
  } node;

  struct Threads {
    ThreadLevel level = ThreadLevel::kSingle;
    bool wants_progress = false;
    bool wants_proxy = false;  // a thread for enqueued operations exists or will
    std::atomic<bool> has_progress{false};
  } threads;
  [[nodiscard]] bool threaded() const noexcept {
    return threads.level == ThreadLevel::kMultiple || threads.wants_progress || threads.wants_proxy;
  }
  bool checks = true;

  Communicator* world = nullptr;
  Communicator* self = nullptr;

  boot::Boot* boot = nullptr;
  stream::Proxy* proxy = nullptr;
  /// abort_job is null if ranks are threads of a test.
  void (*abort_job)(Process* process, int code, const char* text) noexcept = nullptr;

  /// Equal calls of MPI_Type_create_f90_* return the same type.
  struct ParameterisedTypes {
    std::map<std::array<int, 3>, Datatype*> all;
    std::mutex mutex;
  } parameterised;

  cuda::Gpus gpus;  // empty until a buffer lies on a device

  /// The counts of window operations are approximate, because threads may lose an increment.
  struct WindowOperations {
    using Count = std::atomic<uint64_t>;
    Count mapped{0}, copied{0}, network{0}, by_messages{0};
    Count by_target{0};
    std::atomic<bool> refusal_said{false};
    static void add_to(Count& count) noexcept {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  } window_operations;

  /// The counts of transfers of files, by way, are approximate like those of windows.
  struct FileOperations {
    using Count = std::atomic<uint64_t>;
    Count block{0}, blocks{0}, mapped{0}, sieved{0}, exchanged{0};
    Count bytes_read{0}, bytes_written{0};
    Count rounds{0};  // of exchanges
    Count gpudirect{0};
    static void add_to(Count& count, uint64_t more) noexcept {
      count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }
  } file_operations;
  /// Memory registered with adapters for RDMA, by all channels.
  struct Registrations {
    using Count = std::atomic<uint64_t>;
    Count asked{0}, refused{0};
    Count bytes{0};  // now
    std::atomic<bool> refusal_said{false};
    struct Devices {
      Count made{0}, hits{0}, evicted{0}, refused{0};
      Count bytes{0};  // now, also of idle regions
      std::atomic<bool> refusal_said{false};
    } devices;
    static void add_to(Count& count) noexcept { count.fetch_add(1, std::memory_order_relaxed); }
  } registrations;
  Worlds worlds{peers_};
  Deaths deaths;
  std::atomic<bool> meets_worlds{false};  // a transport between hosts is wanted
  /// Peers may answer operations ended by an interrupt.
  std::atomic<bool> has_interrupted{false};

  Progress::Shared waits;

  uint64_t graph = 0;  // hash of TERN_TOPOLOGY's graph, equal on all ranks; 0: none
  static constexpr uint32_t kMostChannels = 8;
  void set_channels(uint32_t count);
  [[nodiscard]] uint32_t channel_count() const noexcept {
    return static_cast<uint32_t>(channels_.size());
  }
  [[nodiscard]] Channel& channel(uint32_t hint) const noexcept {
    return *channels_[hint & (channel_count() - 1)];
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Channel>>& channels() const noexcept {
    return channels_;
  }

  /// peer() takes an index, which is the world rank in namespace 0.
  Peer& peer(uint32_t index) { return peers_.at(index); }

  /// Indices 0 to 15 are reserved. Indices repeat after kContextIndices: see
  /// context_indices_repeat().
  uint32_t next_context_index() noexcept {
    const uint64_t made = context_indices_.fetch_add(1, std::memory_order_relaxed);
    return kFirstContextIndex +
           static_cast<uint32_t>(made % (kContextIndices - kFirstContextIndex));
  }
  [[nodiscard]] bool context_indices_repeat() const noexcept {
    return context_indices_.load(std::memory_order_relaxed) >= kContextIndices - kFirstContextIndex;
  }
  void skip_context_indices(uint64_t count) noexcept { context_indices_ += count; }
  static constexpr uint32_t kFirstContextIndex = 16;
  static constexpr uint32_t kContextIndices = 1U << 30;  // two more bits hold the plane

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  PeerTable peers_;
  std::atomic<uint64_t> context_indices_{0};
};

}  // namespace tern::core

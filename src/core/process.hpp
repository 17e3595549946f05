// SPDX-License-Identifier: Apache-2.0
// Process: all state of one rank.
// Why: N ranks can be N threads of one unit test; nothing else is mutable and global.
// Lifetime: api::Instance's. api::Runtime makes and ends the rooms above (boot, pml, coll), which
// are named here by forward declaration only. Threads: as each member says.
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
#include "core/handle.hpp"
#include "core/peer.hpp"
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

/// How many threads may call MPI, as MPI_Init_thread has granted.
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

  int world_rank = 0;  // in the namespace that launched this process
  int world_size = 1;
  /// Where this process runs.
  struct Node {
    int ranks = 1;                // of the own namespace on this host, this one included
    int cpus = 1;                 // of all ranks here
    bool oversubscribed = false;  // more ranks than cores here: no thread spins
    int numa = -1;  // the NUMA node of this process; -1: unknown, or few ranks on this host
  } node;

  struct Threads {
    ThreadLevel level = ThreadLevel::kSingle;
    bool wants_progress = false;
    bool wants_proxy = false;  // there is, or will be, a thread for enqueued operations
    std::atomic<bool> has_progress{false};
  } threads;
  /// Several threads may be inside MPI: the channels' locks count.
  [[nodiscard]] bool threaded() const noexcept {
    return threads.level == ThreadLevel::kMultiple || threads.wants_progress || threads.wants_proxy;
  }
  bool checks = true;  // argument checks of the C API

  Communicator* world = nullptr;
  Communicator* self = nullptr;

  boot::Boot* boot = nullptr;
  stream::Proxy* proxy = nullptr;  // from the first communicator with a GPU's stream on
  /// Ends the job; null where ranks are threads of a test.
  void (*abort_job)(Process* process, int code, const char* text) noexcept = nullptr;

  /// The types of MPI_Type_create_f90_*: the same call gives the same type.
  struct ParameterisedTypes {
    /// By combiner, precision and range; each holds one reference until the process ends.
    std::map<std::array<int, 3>, Datatype*> all;
    std::mutex mutex;  // over look-up and creation
  } parameterised;

  cuda::Gpus gpus;  // empty until a buffer lies on one

  /// Operations on windows that this rank has begun, by the way to their target; threads that count
  /// at once may lose one.
  struct WindowOperations {
    using Count = std::atomic<uint64_t>;
    Count mapped{0}, copied{0}, by_messages{0};
    Count by_target{0};  // of the copied ones: the target did them, which polled
    /// That the kernel does not copy between windows here.
    std::atomic<bool> refusal_said{false};
    static void add_to(Count& count) noexcept {
      count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  } window_operations;
  /// A communicator of this rank was interrupted: peers may answer what has ended here.
  std::atomic<bool> has_interrupted{false};

  Progress::Shared waits;

  static constexpr uint32_t kMostChannels = 8;
  /// A power of two; while no rooms hang from them.
  void set_channels(uint32_t count);
  [[nodiscard]] uint32_t channel_count() const noexcept {
    return static_cast<uint32_t>(channels_.size());
  }
  /// The channel that serves a channel hint: any number.
  [[nodiscard]] Channel& channel(uint32_t hint) const noexcept {
    return *channels_[hint & (channel_count() - 1)];
  }
  [[nodiscard]] const std::vector<std::unique_ptr<Channel>>& channels() const noexcept {
    return channels_;
  }

  /// The peer of this index (for the own namespace: the world rank); made at first use.
  Peer& peer(uint32_t index) { return peers_.at(index); }

  /// The next local context index; 0 to 15 are reserved (world, self). They come again after
  /// kContextIndices: context_indices_repeat() tells whether they may be in use.
  uint32_t next_context_index() noexcept {
    const uint64_t made = context_indices_.fetch_add(1, std::memory_order_relaxed);
    return kFirstContextIndex +
           static_cast<uint32_t>(made % (kContextIndices - kFirstContextIndex));
  }
  [[nodiscard]] bool context_indices_repeat() const noexcept {
    return context_indices_.load(std::memory_order_relaxed) >= kContextIndices - kFirstContextIndex;
  }
  /// For tests: as if so many had been made.
  void skip_context_indices(uint64_t count) noexcept { context_indices_ += count; }
  static constexpr uint32_t kFirstContextIndex = 16;
  static constexpr uint32_t kContextIndices = 1U << 30;  // a header has two bits more for the plane

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  PeerTable peers_;
  std::atomic<uint64_t> context_indices_{0};
};

}  // namespace tern::core

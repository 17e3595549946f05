// SPDX-License-Identifier: Apache-2.0
// Window: memory that the ranks of a communicator show each other, and what one rank knows of it.
// Life cycle: made by create() on all ranks together, used, freed by free() on all together.
// Way: how a target's memory is reached is the target's property, not the call's: all origins of
// its host use one way. With `shared` memory an operation is a copy or a loop here; `copied` memory
// the kernel reads and writes for this rank (rma/copied.hpp). Both are over when the call returns;
// else an operation travels as a message (rma/messages.hpp).
// Threads: synchronisation takes the lock of the window's channel; operations on shared memory take
// none. See: rma/README.md, MPI-5.0 chapter 12.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/doorbell.hpp"
#include "base/fd.hpp"
#include "core/attribute.hpp"
#include "core/communicator.hpp"
#include "core/device_copy.hpp"
#include "core/info.hpp"
#include "core/object_lock.hpp"
#include "mpi.h"
#include "rma/control.hpp"
#include "rma/epoch.hpp"

namespace tern::core {
class Op;
class Request;
}  // namespace tern::core

namespace tern::rma {

class AccessLog;
class Boxes;
class Messages;
class OpRequest;
struct Shared;
enum class Intent : uint8_t;

/// What one rank knows of another's part.
struct Target {
  std::byte* memory = nullptr;  // where this process has it, on the host; null: it does not
  int32_t process = 0;          // whose memory the kernel copies instead, if not 0,
  std::byte* there = nullptr;   // and where it is in that one; or on a device, of the own part
  bool on_device = false;       // the own part
  int64_t size = 0;             // bytes
  int64_t unit = 1;             // bytes of one displacement
  Control control{};            // where the rank is on this host
  Doorbell* bell = nullptr;     // likewise; null: the own rank
  [[nodiscard]] std::byte* first() const noexcept { return memory != nullptr ? memory : there; }
  /// For who copies: host memory, or any.
  [[nodiscard]] cuda::MemoryKind kind() const noexcept {
    return on_device ? cuda::MemoryKind::kUnknown : cuda::MemoryKind::kHost;
  }
};

/// Elements at a target.
struct Place {
  int target;
  MPI_Aint disp;  // in units of the target's
  MPI_Count count;
  core::Datatype* type;
};

class Window final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kWindow;
  Window(core::Process& process, core::Communicator& communicator, int flavor);
  ~Window() override;

  [[nodiscard]] core::Process& process() const noexcept { return process_; }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return *communicator_; }
  [[nodiscard]] core::Progress& progress() const noexcept {
    return communicator_->channel().progress;
  }
  [[nodiscard]] int rank() const noexcept { return communicator_->rank(); }
  [[nodiscard]] int size() const noexcept { return communicator_->size(); }
  [[nodiscard]] Target& target(int rank) noexcept { return targets_[static_cast<size_t>(rank)]; }
  [[nodiscard]] Target& own() noexcept { return target(rank()); }
  [[nodiscard]] bool dynamic() const noexcept { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
  /// The name, or "the window".
  [[nodiscard]] std::string words() const { return name.or_words("the window"); }

  // Operations. Each returns an error class with fail() text; *request, where it is not null, has a
  // handle and is the caller's. Origin and result buffers may be in any memory.
  [[nodiscard]] int put(const core::Data& origin, const Place& to, OpRequest* request) noexcept;
  [[nodiscard]] int get(const core::Data& origin, const Place& from, OpRequest* request) noexcept;
  [[nodiscard]] int accumulate(const core::Data& origin, const Place& to, const core::Op& op,
                               OpRequest* request) noexcept;
  /// With MPI_NO_OP `origin` is not looked at.
  [[nodiscard]] int get_accumulate(const core::Data& origin, const core::Data& result,
                                   const Place& at, const core::Op& op,
                                   OpRequest* request) noexcept;
  [[nodiscard]] int compare_and_swap(const void* origin, const void* compare, void* result,
                                     const Place& at) noexcept;

  // Synchronisation; likewise.
  [[nodiscard]] int fence(int assertion) noexcept;
  [[nodiscard]] int lock(int type, int target, int assertion) noexcept;
  [[nodiscard]] int unlock(int target) noexcept;
  [[nodiscard]] int lock_all(int assertion) noexcept;
  [[nodiscard]] int unlock_all() noexcept;
  [[nodiscard]] int flush(int target, bool local) noexcept;
  [[nodiscard]] int flush_all(bool local) noexcept;
  [[nodiscard]] int sync() noexcept;
  [[nodiscard]] int post(const core::Group& group, int assertion) noexcept;
  [[nodiscard]] int start(const core::Group& group, int assertion) noexcept;
  [[nodiscard]] int complete() noexcept;
  [[nodiscard]] int wait() noexcept;
  [[nodiscard]] int test(int* flag) noexcept;

  /// Where a part is in the memory of this process, as MPI_Win_shared_query tells.
  struct Part {
    int64_t size = 0, unit = 0;
    void* address = nullptr;
  };
  [[nodiscard]] int shared_query(int rank, Part* part) noexcept;

  // Dynamic windows: the own memory that is attached. Fails with MPI_ERR_RMA_ATTACH.
  [[nodiscard]] int attach(void* address, int64_t length);
  [[nodiscard]] int detach(const void* address);
  /// Whether all of it is attached.
  [[nodiscard]] bool attached(uint64_t address, uint64_t length) const noexcept;

  /// Collective: waits for all ranks, after which no other rank reaches this one's part.
  [[nodiscard]] int leave() noexcept;

  const int flavor;
  core::Name name;
  core::Ref<core::ErrorHandler> error_handler;
  core::Attributes attributes;
  core::Ref<core::Info> info;  // the hints that are set
  /// Whether some of the other parts are reached by messages, and others so reach this one.
  [[nodiscard]] bool is_served_by_messages() const noexcept { return messages_ != nullptr; }
  bool no_locks = false;    // the hint
  bool contiguous = false;  // parts of one host lie behind each other
  // Values of predefined attributes: users get their addresses.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int disp_unit = 1, model = MPI_WIN_UNIFIED, flavor_value;

  // For the other files of this room.
  [[nodiscard]] int32_t pid() const noexcept { return pid_; }
  [[nodiscard]] Epoch& epoch() noexcept { return epoch_; }
  /// The window's ranks of a group; MPI_ERR_GROUP where one has none.
  [[nodiscard]] int find_ranks(const core::Group& group, std::vector<int>* ranks) const;
  /// Waits until `done`, or until `dead` gives a rank of this host that has ended: an error.
  /// The channel is locked.
  template <class Done, class Dead, class Describe>
  [[nodiscard]] int await(Done&& done, Dead&& dead, const Describe& describe) noexcept {
    constexpr int64_t kLooksUs = 20'000;
    uint32_t rounds = 0;
    int64_t looked = 0;
    int lost = -1;
    progress().wait(
        [&] {
          if (done()) return true;
          if ((++rounds & kRoundsBetweenLooks) == 0 && look_again(&looked)) lost = dead();
          return lost >= 0;
        },
        describe, kLooksUs);
    return lost < 0 ? MPI_SUCCESS : fail_dead(lost);
  }
  void wake(int target) noexcept;
  /// Releases the lock of an own or local target for `holder`.
  void release_lock(int target, bool exclusive) noexcept;
  /// A reader that barges goes before a writer that waits.
  [[nodiscard]] static bool try_lock(Control control, int holder, bool exclusive,
                                     bool barges = false) noexcept;
  /// Keeps further readers out until a writer has had its turn.
  static void want(Control control) noexcept;
  /// Asks to be woken when the lock of `target` may be free.
  void enlist(int target) noexcept;
  bool wake_next(int target) noexcept;  // false: none waits
  void wake_all(int target) noexcept;
  /// Whether the process of a rank of this host has ended.
  [[nodiscard]] bool has_died(int rank) noexcept;
  [[nodiscard]] bool is_local(int rank) noexcept { return target(rank).control.valid(); }
  /// Waits, in an epoch of MPI_Win_start, until the target has posted.
  [[nodiscard]] int await_post(int target) noexcept;
  /// All accesses to the target, or to all (target -1), are done there, or here only (`local`).
  [[nodiscard]] int finish(int target, bool local) noexcept;
  [[nodiscard]] std::string rank_in_words(int rank);
  [[nodiscard]] TERN_COLD int fail_dead(int rank) noexcept;

 private:
  friend class Creation;
  struct Region {
    uint64_t first, bytes;
  };
  using Regions = std::vector<Region>;
  /// What another rank of this host has attached.
  struct Known {
    uint32_t version = 0;
    Regions regions{};
  };
  struct Reached;
  struct Combination;
  /// Whether an operation may begin, and where it goes.
  [[nodiscard]] int begin(const Place& at, bool with_request, Reached* reached) noexcept;
  /// Once all else is right: counts it, and holds it against others for TERN_CHECK=rma.
  [[nodiscard]] int note(const Place& at, const Reached& reached, Intent intent) noexcept;
  [[nodiscard]] int find(const Place& at, Reached* reached) noexcept;
  [[nodiscard]] int find_attached(const Place& at, uint64_t low, uint64_t length,
                                  Reached* reached) noexcept;
  [[nodiscard]] int combine(const core::Op& op, const core::Datatype& origin,
                            const core::Datatype& type, Combination* found) const noexcept;
  [[nodiscard]] int apply_here(const Place& at, const Reached& reached, const Combination& how,
                               const core::Data* origin, const core::Data* result);
  [[nodiscard]] Shared shared_elements(const Place& at, const Reached& reached) noexcept;
  [[nodiscard]] bool put_by_box(const core::Data& origin, const Place& to, std::byte* address,
                                int* code) noexcept;
  [[nodiscard]] bool get_by_box(const core::Data& origin, const Place& from, std::byte* address,
                                int* code) noexcept;
  [[nodiscard]] int judge(const Place& at, const Reached& reached, int code) noexcept;
  // What most calls are (plain.cc). Null: something else is to be looked at, maybe an error.
  struct Elements {
    std::byte* first = nullptr;
    size_t length = 0;  // in bytes
    void (*loop)(const void* in, void* inout, size_t count) = nullptr;
  };
  [[nodiscard]] inline std::byte* find_plain(const Place& at, size_t length) noexcept;
  [[nodiscard]] inline std::byte* find_block(const core::Data& here, const Place& at,
                                             size_t* length) noexcept;
  [[nodiscard]] inline Elements find_elements(const core::Data* origin, const core::Data* result,
                                              const Place& at, const core::Op& op) noexcept;
  [[nodiscard]] inline bool is_under_one_stripe(int target, const std::byte* at,
                                                size_t length) noexcept;
  [[nodiscard]] inline Shared shared_with(int target) noexcept;
  inline void count_mapped() noexcept;
  // And what all are (operations.cc).
  [[nodiscard]] int put_any(const core::Data& origin, const Place& to, OpRequest* request) noexcept;
  [[nodiscard]] int get_any(const core::Data& origin, const Place& from,
                            OpRequest* request) noexcept;
  [[nodiscard]] int accumulate_any(const core::Data& origin, const Place& to, const core::Op& op,
                                   OpRequest* request) noexcept;
  [[nodiscard]] int get_accumulate_any(const core::Data& origin, const core::Data& result,
                                       const Place& at, const core::Op& op,
                                       OpRequest* request) noexcept;
  [[nodiscard]] int compare_and_swap_any(const void* origin, const void* compare, void* result,
                                         const Place& at) noexcept;
  [[nodiscard]] int take_lock(int target, bool exclusive) noexcept;
  [[nodiscard]] int await_word(int target, bool exclusive) noexcept;
  [[nodiscard]] int await_own_lock(bool exclusive) noexcept;
  [[nodiscard]] bool try_for_a_moment(Control control, bool exclusive) noexcept;
  void drop_lock(int target, bool exclusive) noexcept;
  [[nodiscard]] int take_all_locks();
  [[nodiscard]] int dead_holder(int target) noexcept;
  void describe_lock(int target, bool exclusive, WaitReport* report);
  [[nodiscard]] int check_lock_assertion(int assertion) noexcept;
  [[nodiscard]] int tell_posted(int to);
  [[nodiscard]] int tell_completed(int to);
  [[nodiscard]] bool by_messages(int rank) noexcept {
    const Target& there = target(rank);
    return rank != this->rank() && there.memory == nullptr && there.process == 0;
  }
  [[nodiscard]] bool completed_by_all() noexcept;
  static constexpr uint32_t kRoundsBetweenLooks = 15;
  /// Every 100 ms.
  [[nodiscard]] static bool look_again(int64_t* looked_ns) noexcept;
  void show_regions(Regions next) noexcept;
  [[nodiscard]] static bool covers(const Regions& regions, uint64_t address,
                                   uint64_t length) noexcept;
  /// Whether another rank of this host has attached all of it. Throws std::bad_alloc.
  [[nodiscard]] int look_up(int target, uint64_t address, uint64_t length, bool* found);
  [[nodiscard]] int read_regions(int target, Known* known);
  [[nodiscard]] int barrier() noexcept;
  void look_around() noexcept;
  [[nodiscard]] TERN_COLD int finish_logged(int target) noexcept;
  TERN_COLD void poll() noexcept;
  [[nodiscard]] int check_target(int rank) const noexcept;

  core::Process& process_;
  core::Communicator* communicator_;  // hidden: the window's alone
  Mapping map_;                       // what the ranks of this host share
  std::vector<Target> targets_;
  Epoch epoch_;
  std::vector<int> started_, posted_;     // the groups of the epochs that are open
  std::vector<uint32_t> starts_, posts_;  // by rank: how often it was in such a group
  bool all_unchecked_ = false;            // lock_all with MPI_MODE_NOCHECK
  std::vector<uint8_t> unchecked_;        // by target: locked with MPI_MODE_NOCHECK
  Regions regions_;                       // of a dynamic window,
  std::vector<Known> known_;              // and those of others, by rank
  mutable std::mutex regions_mutex_;
  std::atomic<uint32_t> calls_{0};      // of flushes, since it looked around
  std::unique_ptr<AccessLog> log_;      // TERN_CHECK=rma
  std::unique_ptr<Boxes> boxes_;        // where the kernel copies
  std::unique_ptr<Messages> messages_;  // null: all share memory
  int32_t pid_;  // of this process; below 0: a number for ranks of several PID namespaces
};

}  // namespace tern::rma

// SPDX-License-Identifier: Apache-2.0
// Targets: the parts of a window as seen by a rank, and waits for other ranks. Threads: any, after
// creation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/doorbell.hpp"
#include "core/communicator.hpp"
#include "core/object_lock.hpp"
#include "mpi.h"
#include "rma/control.hpp"
#include "rma/elements.hpp"

namespace tern::rma {

class Path;

struct Target {
  std::byte* memory = nullptr;
  int32_t process = 0;         // if not 0, the kernel copies to and from this process
  std::byte* there = nullptr;  // in `process`, or on this rank's device
  bool on_device = false;
  int64_t size = 0;
  int64_t unit = 1;   // bytes per displacement
  Control control{};  // for ranks of this host
  Doorbell* bell = nullptr;
  Path* path = nullptr;
  [[nodiscard]] std::byte* first() const noexcept { return memory != nullptr ? memory : there; }
  [[nodiscard]] cuda::MemoryKind kind() const noexcept {
    return on_device ? cuda::MemoryKind::kUnknown : cuda::MemoryKind::kHost;
  }
};

class Targets {
 public:
  Targets(core::Process& process, core::Communicator& communicator, int made_by);
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  [[nodiscard]] core::Process& process() const noexcept { return process_; }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] core::Progress& progress() const noexcept {
    return communicator_.channel().progress;
  }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] Target& operator[](int rank) noexcept { return all_[static_cast<size_t>(rank)]; }
  [[nodiscard]] Target& own() noexcept { return *own_; }
  [[nodiscard]] bool dynamic() const noexcept { return flavor == MPI_WIN_FLAVOR_DYNAMIC; }
  [[nodiscard]] std::string words() const { return name.or_words("the window"); }
  [[nodiscard]] std::string rank_in_words(int rank);

  [[nodiscard]] int check(int rank) const noexcept;
  /// Returns MPI_ERR_GROUP for a non-member, or MPI_ERR_NO_MEM.
  [[nodiscard]] int find_ranks(const core::Group& group, std::vector<int>* ranks) const noexcept;
  [[nodiscard]] bool is_local(int rank) noexcept { return (*this)[rank].control.valid(); }
  [[nodiscard]] Shared elements_of(int rank) noexcept;

  /// Returns an error if `dead` returns an ended rank of this host. The caller holds the channel's
  /// lock.
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
  void wake(int rank) noexcept;
  [[nodiscard]] bool has_died(int rank) noexcept;
  [[nodiscard]] TERN_COLD int fail_dead(int rank) noexcept;
  [[nodiscard]] TERN_COLD int fail_access(int rank, int error) noexcept;

  const int flavor;
  core::Name name;
  int32_t pid;  // negative: a number for several PID namespaces

 private:
  static constexpr uint32_t kRoundsBetweenLooks = 15;
  [[nodiscard]] static bool look_again(int64_t* looked_ns) noexcept;

  core::Process& process_;
  core::Communicator& communicator_;  // private to the window
  const int rank_, size_;
  std::vector<Target> all_;
  Target* const own_;
};

}  // namespace tern::rma

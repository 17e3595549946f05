// SPDX-License-Identifier: Apache-2.0
// Posts: the epochs of MPI_Win_post and MPI_Win_start. Threads: any; each call locks the channel.
#pragma once

#include <cstdint>
#include <vector>

#include "rma/epoch.hpp"
#include "rma/open_accesses.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class Posts {
 public:
  Posts(Targets& targets, Epoch& epoch, OpenAccesses& accesses)
      : targets_(targets),
        epoch_(epoch),
        accesses_(accesses),
        starts_(static_cast<size_t>(targets.size())),
        posts_(starts_.size()) {}

  // All calls return 0, or an error class with fail() text.
  [[nodiscard]] int post(const core::Group& group, int assertion) noexcept;
  [[nodiscard]] int start(const core::Group& group, int assertion) noexcept;
  [[nodiscard]] int complete() noexcept;
  [[nodiscard]] int wait() noexcept;
  [[nodiscard]] int test(int* flag) noexcept;
  [[nodiscard]] int await_post(int target) noexcept;

 private:
  [[nodiscard]] int tell_posted(int to);
  [[nodiscard]] int tell_completed(int to);
  [[nodiscard]] bool has_completed(int by) noexcept;
  [[nodiscard]] bool completed_by_all() noexcept;

  Targets& targets_;
  Epoch& epoch_;
  OpenAccesses& accesses_;
  std::vector<int> started_, posted_;
  std::vector<uint32_t> starts_, posts_;
};

}  // namespace tern::rma

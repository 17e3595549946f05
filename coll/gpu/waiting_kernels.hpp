// SPDX-License-Identifier: Apache-2.0
// WaitingKernels: whether kernels of a team may wait for other ranks, and with how many thread
// blocks.
// Lifetime: the team's. Threads: ranks agree on all values before the first call; then any thread
// reads.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "cuda/residency.hpp"

namespace tern::coll {

class WaitingKernels {
 public:
  WaitingKernels() = default;
  WaitingKernels(const WaitingKernels&) = delete;
  WaitingKernels& operator=(const WaitingKernels&) = delete;

  [[nodiscard]] bool on_all_ranks() const noexcept { return on_all_ranks_; }
  void set_on_all_ranks(bool all) noexcept { on_all_ranks_ = all; }
  /// share_gpu() is true if ranks share a GPU. Under MPS kernels run side by side, but streams must
  /// not wait on semaphores.
  [[nodiscard]] bool share_gpu() const noexcept { return share_gpu_; }
  void set_share_gpu(bool some) noexcept { share_gpu_ = some; }
  /// parts() is the number of thread blocks per kernel, resident on all ranks' devices beside all
  /// other teams'. 0: see why_none().
  [[nodiscard]] int parts() const noexcept { return parts_; }
  /// parts(most) exceeds parts() where places were spare.
  [[nodiscard]] int parts(int most) const noexcept { return std::min(most, with_spare_); }
  void set_parts(int parts, int with_spare) noexcept {
    parts_ = parts;
    with_spare_ = with_spare;
  }
  [[nodiscard]] const char* why_none() const noexcept {
    return on_all_ranks_ ? "waiting kernels of other communicators have all places of a rank's GPU"
                         : "a rank has no kernels";
  }

  [[nodiscard]] cuda::Residency::Share& places(cuda::Residency& of) {
    if (places_ == nullptr) places_ = of.share();
    return *places_;
  }
  /// retire() gives the places to other teams once `is_over` returns true.
  void retire(std::function<bool()> is_over) noexcept {
    if (places_ != nullptr) places_->retire(std::move(is_over));
  }
  void drop_places() noexcept { places_.reset(); }

 private:
  bool on_all_ranks_ = false, share_gpu_ = false;
  int parts_ = 0, with_spare_ = 0;
  std::unique_ptr<cuda::Residency::Share> places_;
};

}  // namespace tern::coll

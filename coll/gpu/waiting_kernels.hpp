// SPDX-License-Identifier: Apache-2.0
// WaitingKernels: whether kernels of a team may wait for other ranks', and in how many blocks.
// Why: a waiting kernel keeps its blocks of threads on the GPU until other ranks' kernels run, so
// all waiting kernels of all teams must be resident together. Lifetime: of the team.
// Threads: ranks agree on all of this together, before the first call; then any thread reads.
// See: cuda/residency.hpp, coll/gpu/README.md (Places).
#pragma once

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

  /// Whether all ranks have kernels.
  [[nodiscard]] bool on_all_ranks() const noexcept { return on_all_ranks_; }
  void set_on_all_ranks(bool all) noexcept { on_all_ranks_ = all; }
  /// Ranks share a GPU by MPS: kernels run beside one another, but no stream waits for words.
  [[nodiscard]] bool share_gpu() const noexcept { return share_gpu_; }
  void set_share_gpu(bool some) noexcept { share_gpu_ = some; }
  /// Blocks of threads of a kernel: resident on every rank's device beside those of all other
  /// teams. 0: no kernel may wait; why_none() has the reason.
  [[nodiscard]] int parts() const noexcept { return parts_; }
  void set_parts(int parts) noexcept { parts_ = parts; }
  [[nodiscard]] const char* why_none() const noexcept {
    return on_all_ranks_ ? "waiting kernels of other communicators have all places of a rank's GPU"
                         : "a rank has no kernels";
  }

  /// The team's share of the places of a GPU.
  [[nodiscard]] cuda::Residency::Share& places(cuda::Residency& of) {
    if (places_ == nullptr) places_ = of.share();
    return *places_;
  }
  /// Another team may have the places after `is_over` returns true.
  void retire(std::function<bool()> is_over) noexcept {
    if (places_ != nullptr) places_->retire(std::move(is_over));
  }
  /// No kernel of the team follows.
  void drop_places() noexcept { places_.reset(); }

 private:
  bool on_all_ranks_ = false, share_gpu_ = false;
  int parts_ = 0;
  std::unique_ptr<cuda::Residency::Share> places_;
};

}  // namespace tern::coll

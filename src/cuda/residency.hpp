// SPDX-License-Identifier: Apache-2.0
// Residency: places of one GPU for blocks of threads of waiting kernels.
// Why: a waiting kernel keeps its places until kernels of other ranks run. Several communicators
// may need more places than the GPU has, and ranks may begin calls in different orders: kernels
// would wait for each other forever. A Share gives a communicator places before its first call, so
// the order of calls is free. One place in eight stays for kernels without waits. Lifetime: of
// Gpus, which outlives every Share. Threads: any. See: coll/gpu/teams.cc;
// tests/unit/cuda/residency_test.cc, tests/gpu/mpi/stream_many.cc.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tern::cuda {

class Residency {
 public:
  class Share {
   public:
    explicit Share(Residency& of) noexcept : of_(of) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();
    /// Takes up to `wanted` places in all; returns the number of places. `most`: places of the
    /// multiprocessors for kernels of this share.
    [[nodiscard]] int take(int wanted, int most) noexcept;
    /// The same, but a quarter of the free places at most: for what others need more.
    [[nodiscard]] int take_spare(int wanted, int most) noexcept;
    /// Gives back places beyond this number.
    void keep(int places) noexcept;
    /// Until the next take(), another share may take the places after `is_over` returns true: no
    /// kernel has any.
    void retire(std::function<bool()> is_over) noexcept;

   private:
    friend class Residency;
    Residency& of_;
    int places_ = 0, most_ = 0;
    std::function<bool()> is_over_;  // empty: it is in use
  };
  /// Of so many places of a GPU, those that waiting kernels of all processes may take.
  [[nodiscard]] static constexpr int for_waiting(int places) noexcept {
    return places - std::max(1, places / 8);
  }
  [[nodiscard]] std::unique_ptr<Share> share();
  /// Ordinary calls take turns on a GPU: all have one share.
  [[nodiscard]] int ordinary(int wanted, int most);

 private:
  int take(Share& share, int wanted, int most) noexcept;
  [[nodiscard]] int free_for(const Share& share) const noexcept;
  void reclaim() noexcept;
  std::mutex mutex_;
  std::vector<Share*> all_;
  std::unique_ptr<Share> ordinary_;
};

}  // namespace tern::cuda

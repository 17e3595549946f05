// SPDX-License-Identifier: Apache-2.0
// Residency: places for thread blocks of waiting kernels on a GPU.
// Why: a waiting kernel occupies places until kernels of other ranks run, and ranks may begin calls
// in different orders. Kernels of several communicators that exceed the GPU would wait for each
// other forever. So each communicator reserves a Share before its first call. An eighth of the
// places stays free for other kernels. Lifetime: Gpus, which outlives every Share. Threads: any.
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
    /// Grows to at most `wanted` places; returns the number. `most`: places on the SMs available to
    /// this share.
    [[nodiscard]] int take(int wanted, int most) noexcept;
    /// Takes at most a quarter of the free places, for low-priority use.
    [[nodiscard]] int take_spare(int wanted, int most) noexcept;
    /// Grows only while half of `most` stays free.
    [[nodiscard]] int take_surplus(int wanted, int most) noexcept;
    void keep(int places) noexcept;
    /// retire() lets other shares get the places once `is_over` returns true, until the next
    /// take().
    void retire(std::function<bool()> is_over) noexcept;

   private:
    friend class Residency;
    Residency& of_;
    int places_ = 0, most_ = 0;
    std::function<bool()> is_over_;
  };
  [[nodiscard]] static constexpr int for_waiting(int places) noexcept {
    return places - std::max(1, places / 8);
  }
  [[nodiscard]] std::unique_ptr<Share> share();
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

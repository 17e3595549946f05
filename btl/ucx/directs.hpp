// SPDX-License-Identifier: Apache-2.0
// Directs: what UCX reads beside the caller's data while a frame of send_direct is under way.
// Lifetime: a channel's Ucx, until UCX has let go of each. Threads: under the channel's lock.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "btl/ucx/blocks.hpp"
#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

struct Direct {
  std::array<std::byte, sizeof(WireHead) + Endpoint::kMostPrefix> head;
  std::array<ucp_dt_iov_t, 2> parts;
  UcxEndpoint* endpoint;
  Operation* operation;
  Direct* next;
};

class Directs {
 public:
  explicit Directs(size_t count) : all_(new Direct[count]) {
    for (size_t i = count; i > 0; --i) give_back_first(all_[i - 1]);
  }
  /// Null where all are under way.
  [[nodiscard]] Direct* take() noexcept {
    Direct* const direct = free_;
    if (direct == nullptr) return nullptr;
    free_ = direct->next;
    ++away_;
    return direct;
  }
  void give_back(Direct& direct) noexcept {
    give_back_first(direct);
    --away_;
  }
  [[nodiscard]] size_t away() const noexcept { return away_; }

 private:
  void give_back_first(Direct& direct) noexcept {
    direct.next = free_;
    free_ = &direct;
  }
  std::unique_ptr<Direct[]> all_;
  Direct* free_ = nullptr;
  size_t away_ = 0;
};

}  // namespace tern::btl::ucx

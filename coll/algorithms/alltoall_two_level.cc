// SPDX-License-Identifier: Apache-2.0
// Two-level alltoall: within a host the j-th rank collects all blocks for j-th ranks, then the j-th
// ranks of all hosts exchange: q - 1 messages of g blocks between hosts per rank, instead of p - g
// of one block. Definitions: q hosts of g ranks; stage slot j' q + x holds the block for rank j' of
// host x; slot p + j' q + x, the block from rank j' of this host for this rank's place in host x;
// then slot x g + j' again, contiguous for one message.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {
namespace {

class Exchange {
 public:
  explicit Exchange(Builder& b) : b_(b) {
    for (const int32_t leader : b.levels()->leaders())
      hosts_.push_back(b.levels()->host_of(leader));
    q_ = static_cast<int32_t>(hosts_.size());
    g_ = static_cast<int32_t>(hosts_[0].size());
    for (int32_t x = 0; x < q_; ++x)
      for (int32_t j = 0; j < g_; ++j)
        if (rank_at(x, j) == b.rank()) host_ = x, place_ = j;
  }

  void within_host() {
    b_.stage(2 * b_.ranks());
    for (int32_t turn = 1; turn < g_; ++turn) {
      const int32_t to = (place_ + turn) % g_, from = (place_ - turn + g_) % g_;
      pack_for(to, to * q_);
      b_.send(rank_at(host_, to), Builder::staged(to * q_, 0, q_));
      b_.recv(rank_at(host_, from), Builder::staged(b_.ranks() + from * q_, 0, q_));
    }
    pack_for(place_, b_.ranks() + place_ * q_);
  }

  void between_hosts() {
    for (int32_t turn = 1; turn < q_; ++turn) {
      const int32_t to = (host_ + turn) % q_, from = (host_ - turn + q_) % q_;
      for (int32_t j = 0; j < g_; ++j)
        b_.copy(Builder::staged(b_.ranks() + j * q_ + to), Builder::staged(to * g_ + j));
      int32_t slot = to * g_;
      for (const RankRun& run : runs_of(host(host_))) {
        b_.send(rank_at(to, place_), Builder::staged(slot, 0, run.count));
        slot += run.count;
      }
      for (const RankRun& run : runs_of(host(from)))
        b_.recv(rank_at(from, place_), Builder::output(run.first, run.count));
    }
    for (int32_t j = 0; j < g_; ++j)
      b_.copy(Builder::staged(b_.ranks() + j * q_ + host_), Builder::output(rank_at(host_, j)));
  }

 private:
  [[nodiscard]] const std::vector<int32_t>& host(int32_t x) const {
    return hosts_[static_cast<size_t>(x)];
  }
  [[nodiscard]] int32_t rank_at(int32_t x, int32_t j) const {
    return host(x)[static_cast<size_t>(j)];
  }
  void pack_for(int32_t j, int32_t slot) {
    for (int32_t x = 0; x < q_; ++x)
      b_.copy(Builder::input(rank_at(x, j)), Builder::staged(slot + x));
  }

  Builder& b_;
  std::vector<std::vector<int32_t>> hosts_;
  int32_t q_ = 1, g_ = 1, host_ = 0, place_ = 0;
};

}  // namespace

void alltoall_two_level(Builder& b) {
  Exchange exchange(b);
  exchange.within_host();
  exchange.between_hosts();
}

}  // namespace tern::coll

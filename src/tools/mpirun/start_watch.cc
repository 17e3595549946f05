// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/start_watch.hpp"

#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace tern::mpirun {

StartWatch::StartWatch(Loop& loop, boot::SharedJob& shared, double timeout,
                       std::function<void(const std::string& text)> say)
    : loop_(loop), shared_(shared), timeout_(timeout), say_(std::move(say)) {}

void StartWatch::begin(int ranks) {
  ranks_ = ranks;
  look_later();
}

void StartWatch::look_later() {
  loop_.after(timeout_ / kLooks, this, [this] { look(); });
}

void StartWatch::look() {
  int here = 0, waiting = 0, missing = -1;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (shared_.state(rank) != boot::RankState::kStarted)
      ++here;
    else if (missing < 0)
      missing = rank;
    waiting += shared_.in_fence(rank) ? 1 : 0;
  }
  if (here == ranks_) return;
  looks_ = here == here_ ? looks_ + 1 : 0;
  here_ = here;
  if (waiting == 0 || looks_ < kLooks) return look_later();
  double load = 0;
  (void)::getloadavg(&load, 1);
  say_(
      strf("%d of %d ranks have called MPI_Init, and no other has for %.0f s; rank %d is missing "
           "(the load of this machine is %.0f)",
           here, ranks_, timeout_, missing, load));
}

}  // namespace tern::mpirun

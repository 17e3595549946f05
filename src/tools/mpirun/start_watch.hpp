// SPDX-License-Identifier: Apache-2.0
// Reports once if ranks wait in MPI_Init and for long no other rank calls MPI_Init.
// Why: too many ranks overload a machine, and silence looks like a hang.
// Threads: the loop's. Lifetime: Job.
#pragma once

#include <functional>
#include <string>

#include "boot/shared_job.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class StartWatch {
 public:
  // `timeout`: seconds without another rank.
  StartWatch(Loop& loop, boot::SharedJob& shared, double timeout,
             std::function<void(const std::string& text)> say);
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  ~StartWatch() { loop_.forget_timers(this); }
  void begin(int ranks);

 private:
  void look_later();
  void look();

  static constexpr int kLooks = 30;

  Loop& loop_;
  boot::SharedJob& shared_;
  const double timeout_;
  const std::function<void(const std::string& text)> say_;
  int ranks_ = 0;
  int here_ = 0;
  int looks_ = 0;
};

}  // namespace tern::mpirun

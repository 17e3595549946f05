// SPDX-License-Identifier: Apache-2.0
// A job whose ranks are threads of one process: N Boot objects over one table in memory.
// Why: matching, protocols and collectives are tested at N ranks without a launcher.
// Lifetime: the Boot objects keep the job's state alive; FakeJob may go first.
// Threads: each Boot by one thread at a time; fence() blocks until all ranks have called it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

class FakeJob {
 public:
  // hosts[r] names the declared host of rank r; empty: all ranks on one host.
  explicit FakeJob(int size, std::vector<std::string> hosts = {});

  [[nodiscard]] std::unique_ptr<Boot> boot(int rank) const;

  // The code of the first abort(), or -1. After an abort every fence throws.
  [[nodiscard]] int abort_code() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tern::boot

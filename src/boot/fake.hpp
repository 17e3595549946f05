// SPDX-License-Identifier: Apache-2.0
// FakeJob: a job whose ranks are threads of one process, with a table in memory.
// Why: tests of matching, protocols and collectives at N ranks without a launcher.
// Lifetime: the Boot objects keep the state alive, so FakeJob may end first.
// Threads: one thread at a time per Boot; fence() blocks until all ranks have called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

class FakeJob {
 public:
  // hosts[r]: the host of rank r; empty: one host for all.
  explicit FakeJob(int size, std::vector<std::string> hosts = {});

  [[nodiscard]] std::unique_ptr<Boot> boot(int rank) const;

  // The code of the first abort(), or -1. After an abort, every fence throws.
  [[nodiscard]] int abort_code() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tern::boot

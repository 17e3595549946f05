// SPDX-License-Identifier: Apache-2.0
// FakeJob: a job of ranks in threads of a single process, for unit tests.
// Lifetime: FakeJob may end before the Boot objects. Threads: fence() blocks until all ranks have
// called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

class FakeJob {
 public:
  // hosts[r]: the host of rank r; empty: a common host.
  explicit FakeJob(int size, std::vector<std::string> hosts = {});

  [[nodiscard]] std::unique_ptr<Boot> boot(int rank) const;

  // Code of the first abort(), or -1. Later fences throw.
  [[nodiscard]] int abort_code() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tern::boot

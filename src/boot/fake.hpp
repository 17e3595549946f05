// SPDX-License-Identifier: Apache-2.0
// FakeJob: a job of ranks in threads of a single process, for unit tests. A FakeJob may end before
// the Boot objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "boot/boot.hpp"

namespace tern::boot {

class FakeJob {
 public:
  // hosts[r] is the host of rank r; an empty list means a common host.
  explicit FakeJob(int size, std::vector<std::string> hosts = {});

  [[nodiscard]] std::unique_ptr<Boot> boot(int rank) const;

  [[nodiscard]] int abort_code() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tern::boot

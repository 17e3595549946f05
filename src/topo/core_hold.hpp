// SPDX-License-Identifier: Apache-2.0
// CoreHold: reserves cores, to keep jobs of a machine apart. How: advisory flock on the kernel's
// folder of each processor (/sys/devices/system/cpu/cpuN), for all users, until the process ends.
// Threads: single.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "topo/cpus.hpp"

namespace tern::topo {

class CoreHold {
 public:
  explicit CoreHold(std::string sysfs = "/sys") : sysfs_(std::move(sysfs)) {}

  // take() returns the cores not held by other processes.
  [[nodiscard]] std::vector<Core> take(const std::vector<Core>& cores);
  void keep(const std::vector<int>& cpus);
  void release() noexcept { held_.clear(); }

 private:
  [[nodiscard]] Fd gate() const;
  [[nodiscard]] bool take_core(const Core& core);

  struct Held {
    int cpu;
    Fd fd;
  };
  std::string sysfs_;
  std::vector<Held> held_;
};

}  // namespace tern::topo

// SPDX-License-Identifier: Apache-2.0
// Cores taken for a job, so that two jobs of one machine do not choose the same ones.
// How: flock on the kernel's own folder of each processor (/sys/devices/system/cpu/cpuN). No file
// is made, other users' jobs count too, and the end of the process, however it comes, gives back.
// Why advisory is enough: who takes cores without asking slows others down, as ever.
// Lifetime: held until release() or the end. Threads: one.
// See: tests/unit/topo/core_hold_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"
#include "topo/cpus.hpp"

namespace tern::topo {

class CoreHold {
 public:
  // `sysfs` is "/sys" but in tests.
  explicit CoreHold(std::string sysfs = "/sys") : sysfs_(std::move(sysfs)) {}

  // Takes those of `cores` that no other process holds, and returns them.
  [[nodiscard]] std::vector<Core> take(const std::vector<Core>& cores);
  // Gives back all but these processors.
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

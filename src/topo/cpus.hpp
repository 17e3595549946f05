// SPDX-License-Identifier: Apache-2.0
// The processors that this process may use, grouped by core and NUMA node.
// Why: binding and the choice between spinning and sleeping need no more than the kernel tells in a
// few reads; hwloc costs milliseconds and is left to questions about devices.
// Threads: any. Each call asks the kernel anew.
// See: tests/unit/topo/cpus_test.cc.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace tern::topo {

// One core: its hardware threads that are allowed, and where it is.
struct Core {
  std::vector<int> cpus;
  int numa = 0;
  int package = 0;  // these two by hwloc only (machine.hpp)
  int l3 = 0;
};

// The allowed cores, by NUMA node and then by number. `sysfs` is "/sys" but in tests.
[[nodiscard]] std::vector<Core> allowed_cores(const std::string& sysfs = "/sys");

// The processors of the affinity mask, which a cgroup's cpuset narrows.
[[nodiscard]] std::vector<int> allowed_cpus();

// The NUMA node of all allowed processors; -1: several nodes, or a machine with a single node.
[[nodiscard]] int allowed_numa(const std::string& sysfs = "/sys");

// How many hardware threads the affinity mask allows (at least 1): one cheap system call.
[[nodiscard]] int allowed_cpu_count() noexcept;

// Where the calling thread runs at this moment; {-1, -1} where the kernel does not say.
struct Place {
  int cpu = -1;
  int numa = -1;
};
[[nodiscard]] Place current_place() noexcept;

[[nodiscard]] std::string host_name();

// "AMD EPYC, 2 CPUs, L1 32K, L2 1024K, L3 32768K": what makes timings comparable. `cpus`: of all
// ranks.
[[nodiscard]] std::string machine_words(int cpus, const std::string& sysfs = "/sys",
                                        const std::string& cpuinfo = "/proc/cpuinfo");

// A kernel list such as "0-3,8" and back.
[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);
[[nodiscard]] std::string format_cpu_list(std::vector<int> cpus);

}  // namespace tern::topo

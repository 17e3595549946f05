// SPDX-License-Identifier: Apache-2.0
// The processors available to this process, by core and NUMA node, from the kernel, because hwloc
// takes milliseconds.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace tern::topo {

// A core lists only the allowed hardware threads.
struct Core {
  std::vector<int> cpus;
  int numa = 0;
  int package = 0;  // package and l3 only from hwloc
  int l3 = 0;
};

// The cores are sorted by NUMA node, then number.
[[nodiscard]] std::vector<Core> allowed_cores(const std::string& sysfs = "/sys");

[[nodiscard]] std::vector<int> allowed_cpus();

// allowed_numa() is -1 for several nodes, or a single-node machine.
[[nodiscard]] int allowed_numa(const std::string& sysfs = "/sys");

[[nodiscard]] int allowed_cpu_count() noexcept;

struct CpuLocation {
  int cpu = -1;
  int numa = -1;
};
[[nodiscard]] CpuLocation current_place() noexcept;

[[nodiscard]] std::string host_name();

// Example: "AMD EPYC, 2 CPUs, L1 32K, L2 1024K, L3 32768K".
[[nodiscard]] std::string machine_words(int cpus, const std::string& sysfs = "/sys",
                                        const std::string& cpuinfo = "/proc/cpuinfo");

[[nodiscard]] std::vector<int> parse_cpu_list(const std::string& text);
[[nodiscard]] std::string format_cpu_list(std::vector<int> cpus);

}  // namespace tern::topo

// SPDX-License-Identifier: Apache-2.0
// Cores and NUMA nodes from the affinity mask and sysfs.
#include "topo/cpus.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace tern::topo {
namespace {

constexpr int kMostCpus = 8192;

std::string read_small(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8192];
  const ssize_t got = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : 0;
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::map<int, int> numa_of_cpus(const std::string& sysfs) {
  std::map<int, int> numa;
  const std::string nodes = sysfs + "/devices/system/node/";
  const std::vector<int> online = parse_cpu_list(read_small(nodes + "online"));
  if (online.size() < 2) return numa;
  for (const int node : online)
    for (const int cpu : parse_cpu_list(read_small(strf("%snode%d/cpulist", nodes.c_str(), node))))
      numa[cpu] = node;
  return numa;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t* mask = CPU_ALLOC(kMostCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (::sched_getaffinity(0, bytes, mask) == 0)
    for (int cpu = 0; cpu < kMostCpus; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask)) cpus.push_back(cpu);
  CPU_FREE(mask);
  return cpus;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const long first = std::strtol(at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last && cpu < kMostCpus; ++cpu)
      cpus.push_back(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

std::string format_cpu_list(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? strf("%d", cpus[i]) : strf("%d-%d", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

std::vector<Core> allowed_cores(const std::string& sysfs) {
  const std::vector<int> cpus = allowed_cpus();
  const std::map<int, int> numa = numa_of_cpus(sysfs);
  const bool threads = read_small(sysfs + "/devices/system/cpu/smt/active")[0] == '1';
  std::map<std::pair<int, int>, Core> cores;
  for (const int cpu : cpus) {
    int first = cpu;
    if (threads) {
      const auto siblings = parse_cpu_list(read_small(
          strf("%s/devices/system/cpu/cpu%d/topology/thread_siblings_list", sysfs.c_str(), cpu)));
      if (!siblings.empty()) first = siblings.front();
    }
    const auto found = numa.find(cpu);
    const int node = found == numa.end() ? 0 : found->second;
    Core& core = cores[{node, first}];
    core.numa = node;
    core.cpus.push_back(cpu);
  }
  std::vector<Core> result;
  for (auto& [place, core] : cores) result.push_back(std::move(core));
  return result;
}

int allowed_numa(const std::string& sysfs) {
  const std::map<int, int> numa = numa_of_cpus(sysfs);
  int node = -1;
  for (const int cpu : allowed_cpus()) {
    const auto found = numa.find(cpu);
    if (found == numa.end() || (node >= 0 && node != found->second)) return -1;
    node = found->second;
  }
  return node;
}

int allowed_cpu_count() noexcept {
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));  // over 1,024 processors
}

CpuLocation current_place() noexcept {
  unsigned cpu = 0, numa = 0;
  if (::getcpu(&cpu, &numa) != 0) return {};
  return {static_cast<int>(cpu), static_cast<int>(numa)};
}

std::string machine_words(int cpus, const std::string& sysfs, const std::string& cpuinfo) {
  std::string words = "unknown CPU";
  const std::string info = read_small(cpuinfo);
  for (const char* const key : {"model name", "Processor", "cpu"}) {
    const size_t at = info.find(key), colon = info.find(": ", at);
    if (at == std::string::npos || colon == std::string::npos) continue;
    words = info.substr(colon + 2, info.find('\n', colon) - colon - 2);
    break;
  }
  words += strf(", %d CPUs", cpus);
  for (int cache = 0; cache < 8; ++cache) {
    const std::string folder = sysfs + strf("/devices/system/cpu/cpu0/cache/index%d/", cache);
    const std::string level = read_small(folder + "level"), size = read_small(folder + "size");
    if (level[0] == '\0' || size[0] == '\0' || read_small(folder + "type")[0] == 'I') continue;
    words += ", L" + level.substr(0, level.find('\n')) + " " + size.substr(0, size.find('\n'));
  }
  return words;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace tern::topo

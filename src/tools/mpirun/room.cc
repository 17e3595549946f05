// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/room.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

// Lower bound of a rank's memory. After MPI_Init a small program has 1.2 MiB of private memory.
constexpr std::int64_t kLeastMemory = 512 * 1024;
constexpr std::int64_t kOwnDescriptors = 8, kOwnProcesses = 2;

std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : Room::kNone;  // "max" is not a number
}

std::int64_t kib_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + ":");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size() + 2);
}

std::int64_t free_memory(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::stringstream text;
  text << '\n' << file.rdbuf();
  const std::int64_t available = kib_of(text.str(), "MemAvailable");
  if (available == 0) return Room::kNone;
  return (available + kib_of(text.str(), "SwapFree")) * 1024;
}

// The directory of a controller's files: cgroup v2 has a single tree, v1 a tree per controller.
struct Group {
  std::string folder, path;
};

Group group_of(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  Group found;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool mine = names.find("," + controller + ",") != std::string::npos;
    if (!mine && (names != ",," || !found.folder.empty())) continue;
    found = {root + "/sys/fs/cgroup" + (mine ? "/" + controller : ""), line.substr(second + 1)};
    if (mine) return found;
  }
  return found;
}

// Returns the least amount left in a cgroup and its parents, or without `current` the least limit.
std::int64_t free_in(const Group& group, const char* most, const char* current = nullptr) {
  std::int64_t least = Room::kNone;
  if (group.folder.empty()) return least;
  for (std::string path = group.path;; path.erase(path.rfind('/'))) {
    const std::string at = group.folder + path + "/";
    const std::int64_t limit = number_in(at + most);
    const std::int64_t used = current == nullptr ? 0 : number_in(at + current);
    if (limit != Room::kNone && used != Room::kNone)
      least = std::min(least, std::max<std::int64_t>(0, limit - used));
    if (path.rfind('/') == std::string::npos) return least;
  }
}

std::int64_t limit_of(__rlimit_resource_t which, bool hard) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0) return Room::kNone;
  const rlim_t value = hard ? limit.rlim_max : limit.rlim_cur;
  return value == RLIM_INFINITY ? Room::kNone : static_cast<std::int64_t>(value);
}

std::string mib(std::int64_t bytes) {
  return strf("%lld MiB", static_cast<long long>(bytes / (1024 * 1024)));
}

}  // namespace

Room room_here(const std::string& root) {
  Room room;
  room.descriptors = limit_of(RLIMIT_NOFILE, true);  // mpirun raises its soft limit
  if (::geteuid() != 0) room.user_processes = limit_of(RLIMIT_NPROC, false);
  room.system_processes = std::min(number_in(root + "/proc/sys/kernel/pid_max"),
                                   number_in(root + "/proc/sys/kernel/threads-max"));
  room.group_processes = free_in(group_of(root, "pids"), "pids.max", "pids.current");
  room.memory = free_memory(root);
  const Group memory = group_of(root, "memory");
  // Pages in the cgroup's cache can be freed, so only the limit is certain.
  room.group_memory =
      std::min(free_in(memory, "memory.max"), free_in(memory, "memory.limit_in_bytes"));
  return room;
}

std::string lack_in_words(const Room& room, int ranks, int outputs) {
  const std::int64_t descriptors = kOwnDescriptors + std::int64_t{ranks} * (1 + outputs);
  const std::int64_t processes = kOwnProcesses + ranks;
  const std::int64_t memory = ranks * kLeastMemory;
  const auto lack = [ranks](const std::string& needs, const std::string& has, const char* cure) {
    return strf("%d rank%s need %s, but %s. Cure: %s, or fewer ranks", ranks, ranks == 1 ? "" : "s",
                needs.c_str(), has.c_str(), cure);
  };
  const auto count = [](std::int64_t number) {
    return strf("%lld", static_cast<long long>(number));
  };
  const std::string these = count(processes) + " processes, mpirun and its guard included";
  if (descriptors > room.descriptors)
    return lack(count(descriptors) + " descriptors in mpirun",
                "ulimit -Hn allows " + count(room.descriptors), "a higher ulimit -Hn");
  if (processes > room.user_processes)
    return lack(these, "ulimit -u allows this user " + count(room.user_processes),
                "a higher ulimit -u");
  if (processes > room.system_processes)
    return lack(these, "this system has " + count(room.system_processes),
                "a higher kernel.pid_max and kernel.threads-max (sysctl)");
  if (processes > room.group_processes)
    return lack(these, "the job's cgroup has room for " + count(room.group_processes),
                "a higher pids.max");
  if (memory > room.memory)
    return lack(mib(memory) + " of memory at least",
                "this machine has " + mib(room.memory) + " free", "more memory");
  if (memory > room.group_memory)
    return lack(mib(memory) + " of memory at least",
                "the job's cgroup has " + mib(room.group_memory), "a higher memory.max");
  return {};
}

}  // namespace tern::mpirun

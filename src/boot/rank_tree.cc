// SPDX-License-Identifier: Apache-2.0
// Rank tree: reading /proc.
#include "boot/rank_tree.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/ended.hpp"
#include "base/error.hpp"

namespace tern::boot {
namespace {

constexpr std::size_t kMostLevels = 256;

struct Stat {
  pid_t parent = 0;
  unsigned flags = 0;
};

// A hidden or ended process gives zeros.
Stat stat_of(pid_t pid) {
  std::ifstream file(strf("/proc/%d/stat", pid));
  std::string line;
  std::getline(file, line);
  Stat stat;
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || std::sscanf(line.c_str() + end + 1, " %*c %d %*d %*d %*d %*d %u",
                                              &stat.parent, &stat.flags) != 2)
    return {};
  return stat;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> all;
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator(strf("/proc/%d/task", pid), none)) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) all.push_back(child);
  }
  return all;
}

bool has_library(pid_t pid) {
  std::ifstream file(strf("/proc/%d/maps", pid));
  for (std::string line; std::getline(file, line);)
    if (line.find("/libmpi_abi.so") != std::string::npos) return true;
  return false;
}

// The flags are PF_FORKNOEXEC and PF_EXITING of linux/sched.h.
constexpr unsigned kForkedOnly = 0x40, kExiting = 0x4;

bool is_mere_fork(pid_t pid) { return (stat_of(pid).flags & kForkedOnly) != 0; }

bool is_killed(pid_t pid) {
  std::ifstream file(strf("/proc/%d/status", pid));
  for (std::string line; std::getline(file, line);)
    if (line.rfind("SigPnd:", 0) == 0 || line.rfind("ShdPnd:", 0) == 0)
      if ((std::strtoull(line.c_str() + 7, nullptr, 16) >> (SIGKILL - 1) & 1) != 0) return true;
  return false;
}

}  // namespace

bool Starters::have(pid_t pid) const noexcept {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

Starters starters_below(pid_t launcher) {
  Starters found;
  for (pid_t at = ::getppid(); at > 1 && found.pids.size() < kMostLevels; at = stat_of(at).parent) {
    if (at == launcher) {
      found.below_launcher = true;
      return found;
    }
    found.pids.push_back(at);
  }
  return {};
}

pid_t other_program(const Starters& starters) {
  if (starters.pids.empty()) return 0;
  std::vector<pid_t> left = {starters.pids.back()};
  for (std::size_t i = 0; i < left.size(); ++i) {
    const pid_t at = left[i];
    if (at == ::getpid()) continue;
    if (!starters.have(at) && !is_mere_fork(at) && has_library(at)) return at;
    const std::vector<pid_t> more = children_of(at);
    left.insert(left.end(), more.begin(), more.end());
  }
  return 0;
}

void wait_if_ending(pid_t pid) {
  constexpr int kMoments = 1000, kMomentUs = 1000;
  if ((stat_of(pid).flags & kExiting) == 0 && !is_killed(pid)) return;
  for (int i = 0; i < kMoments && !has_ended(pid); ++i) ::usleep(kMomentUs);
}

std::string program_of(pid_t pid) {
  std::error_code none;
  return std::filesystem::read_symlink(strf("/proc/%d/exe", pid), none).filename();
}

}  // namespace tern::boot

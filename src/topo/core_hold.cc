// SPDX-License-Identifier: Apache-2.0
// CoreHold: locks on the folders of processors.
#include "topo/core_hold.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace tern::topo {
namespace {

constexpr int kGateTries = 20;  // of 1 ms: a malicious process may hold the gate
constexpr useconds_t kGatePause = 1000;

Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

// Without the gate, concurrent jobs would each get too few cores.
Fd CoreHold::gate() const {
  Fd gate = open_folder(sysfs_ + "/devices/system/cpu");
  for (int i = 0; gate.valid() && i < kGateTries; ++i) {
    if (::flock(gate.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) break;
    ::usleep(kGatePause);
  }
  return gate;
}

// A processor without a folder or locks cannot be held.
bool CoreHold::take_core(const Core& core) {
  const std::size_t before = held_.size();
  for (const int cpu : core.cpus) {
    Fd fd = open_folder(strf("%s/devices/system/cpu/cpu%d", sysfs_.c_str(), cpu));
    if (!fd.valid()) continue;
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(before), held_.end());
      return false;
    }
    held_.push_back({cpu, std::move(fd)});
  }
  return true;
}

std::vector<Core> CoreHold::take(const std::vector<Core>& cores) {
  const Fd gate_fd = gate();
  std::vector<Core> taken;
  for (const Core& core : cores)
    if (take_core(core)) taken.push_back(core);
  return taken;
}

void CoreHold::keep(const std::vector<int>& cpus) {
  const auto unwanted = [&cpus](const Held& held) {
    return std::find(cpus.begin(), cpus.end(), held.cpu) == cpus.end();
  };
  held_.erase(std::remove_if(held_.begin(), held_.end(), unwanted), held_.end());
}

}  // namespace tern::topo

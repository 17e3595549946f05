// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/stuck.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

struct Status {
  std::string state = "unknown";
  pid_t tracer = 0;
};

Status status_in(const std::string& directory) {
  Status found;
  std::ifstream file(directory + "/status");
  for (std::string word; file >> word;) {
    if (word == "State:") std::getline(file >> std::ws, found.state);
    if (word == "TracerPid:") file >> found.tracer;
  }
  return found;
}

std::string name_of_process(pid_t pid) {
  std::string name;
  std::getline(std::ifstream(strf("/proc/%d/comm", pid)), name);
  return name.empty() ? "?" : name;
}

}  // namespace

// Any thread can keep the process; a tracer takes precedence over state D.
std::string why_not_ended(pid_t pid) {
  const std::string process = strf("/proc/%d", pid);
  std::string state = status_in(process).state;
  std::error_code error;
  std::filesystem::directory_iterator thread(process + "/task", error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    const Status status = status_in(thread->path());
    if (status.tracer > 0)
      return strf("traced by process %d (%s)", status.tracer,
                  name_of_process(status.tracer).c_str());
    if (status.state.front() == 'D') state = status.state;
  }
  return "in state " + state;
}

}  // namespace tern::mpirun

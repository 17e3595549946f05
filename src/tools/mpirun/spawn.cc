// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

constexpr int kMostCpus = 8192;

// The child calls bind_self() in the parent's memory: system calls only.
int bind_self(const std::vector<int>* cpus) noexcept {
  if (cpus == nullptr || cpus->empty()) return 0;
  unsigned long mask[kMostCpus / (8 * sizeof(unsigned long))] = {};
  for (const int cpu : *cpus)
    CPU_SET_S(static_cast<std::size_t>(cpu), sizeof mask, reinterpret_cast<cpu_set_t*>(mask));
  return ::sched_setaffinity(0, sizeof mask, reinterpret_cast<cpu_set_t*>(mask));
}

// move_fd() is a dup2() that also clears close-on-exec if both numbers are equal.
int move_fd(int from, int to) noexcept {
  return from == to ? ::fcntl(to, F_SETFD, 0) : ::dup2(from, to);
}

const char* prepare_child(const Spawn& spawn, pid_t parent) noexcept {
  if (::setpgid(0, 0) != 0) return "making a process group";
  *spawn.announce = ::getpid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // mpirun died before the prctl above
  if (move_fd(spawn.input, 0) < 0 || move_fd(spawn.output, 1) < 0 || move_fd(spawn.error, 2) < 0)
    return "connecting stdin, stdout and stderr";
  for (const int fd : spawn.inherited)
    if (fd >= 0 && ::fcntl(fd, F_SETFD, 0) != 0) return "passing on the start-up memory";
  if (bind_self(spawn.cpus) != 0) return "binding to its processors";
  if (spawn.directory != nullptr && ::chdir(spawn.directory) != 0) return spawn.directory;
  ::setrlimit(RLIMIT_NOFILE, spawn.open_files);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, spawn.signal_mask, nullptr);
  return nullptr;
}

bool is_program(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// A traced program stops after exec; a debugger can attach after the release. WNOWAIT keeps a child
// killed here reapable by on_exit().
void leave_stopped(pid_t pid) noexcept {
  const auto wait_for = [pid](siginfo_t* what) {
    return ::waitid(P_PID, static_cast<id_t>(pid), what, WSTOPPED | WEXITED | WNOWAIT) == 0;
  };
  siginfo_t what{};
  if (!wait_for(&what) || what.si_code != CLD_TRAPPED) return;
  ::ptrace(PTRACE_DETACH, pid, nullptr, reinterpret_cast<void*>(std::intptr_t{SIGSTOP}));
  (void)wait_for(&what);  // the signal arrives before the next instruction, but not at once
}

std::string absolute(const std::string& path, const std::string& directory) {
  return path[0] == '/' || directory.empty() ? path : directory + "/" + path;
}

}  // namespace

SpawnResult spawn(const Spawn& spawn) noexcept {
  SpawnResult result;
  volatile int child_error = 0;
  const char* volatile child_step = "";
  const pid_t parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid == 0) {
    const char* step = prepare_child(spawn, parent);
    if (spawn.stop_at_start) ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    if (step == nullptr) {
      ::execve(spawn.path, spawn.arguments, spawn.environment);
      step = spawn.path;
    }
    child_step = step;
    child_error = errno;
    ::_exit(127);
  }
  if (spawn.stop_at_start && pid > 0 && child_error == 0) leave_stopped(pid);
  result.pid = pid;
  result.error = pid < 0 ? errno : child_error;
  result.step = pid < 0 ? "starting a process" : child_step;
  return result;
}

std::string find_program(const std::string& program, const std::string& directory,
                         const std::string& search_path, const char* path_variable) {
  if (program.find('/') != std::string::npos) {
    const std::string path = absolute(program, directory);
    if (is_program(path)) return program;
    const char* why = ::access(path.c_str(), F_OK) != 0 ? std::strerror(errno)
                      : ::access(path.c_str(), X_OK) != 0
                          ? "the file is not executable (cure: chmod +x)"
                          : "the path is not a file";
    throw Error(MPI_ERR_NO_SUCH_FILE, strf("cannot start %s: %s", path.c_str(), why));
  }
  const std::string usual =
      path_variable != nullptr ? path_variable : "/usr/local/bin:/usr/bin:/bin";
  const std::string rest = search_path.empty() ? usual : search_path + ":" + usual;
  for (std::size_t begin = 0; begin <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', begin), rest.size());
    const std::string folder = rest.substr(begin, end - begin);
    std::string path = (folder.empty() ? "." : folder) + "/" + program;
    if (is_program(absolute(path, directory))) return path;
    begin = end + 1;
  }
  const bool here = is_program(absolute("./" + program, directory));
  throw Error(MPI_ERR_NO_SUCH_FILE,
              strf("cannot start %s: no such program in %sPATH%s", program.c_str(),
                   search_path.empty() ? "" : strf("%s or ", search_path.c_str()).c_str(),
                   here ? strf("; did you mean ./%s?", program.c_str()).c_str() : ""));
}

std::vector<std::string> find_programs(const Options& options, const char* path) {
  const std::pair<std::string, std::string> page_alone{"TERN_PROFILE", "1"};
  const Pairs& given = options.environment;
  const bool profiles = std::find(given.begin(), given.end(), page_alone) != given.end();
  std::vector<std::string> paths;
  for (const App& app : options.apps) {
    try {
      paths.push_back(find_program(app.command[0], app.directory, app.search_path, path));
    } catch (const Error& error) {
      if (!profiles || !paths.empty()) throw;
      throw Error(error.mpi_class(), strf("%s. A file of --profile follows '=': --profile=%s",
                                          error.what(), app.command[0].c_str()));
    }
  }
  return paths;
}

}  // namespace tern::mpirun

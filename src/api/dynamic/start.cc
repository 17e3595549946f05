// SPDX-License-Identifier: Apache-2.0
#include "api/dynamic/start.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "api/process.hpp"
#include "base/config.hpp"
#include "base/error.hpp"
#include "boot/boot.hpp"
#include "mpi.h"

extern char** environ;

namespace tern::api {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw Error(MPI_ERR_SPAWN, strf("%s: %s", what.c_str(), std::strerror(error)));
}

/// The shell leaves mpirun to process 1, the reaper of orphans.
constexpr const char* kInBackground = "\"$@\" </dev/null 9>&- & echo $! >&9";

/// The new world has the same universe, and unbound ranks.
std::vector<std::string> words_for(const std::string& mpirun, const boot::SpawnRequest& request) {
  std::vector<std::string> words{"sh",   "-c",      kInBackground, "sh",
                                 mpirun, "--quiet", "--bind-to",   "none"};
  if (request.universe > 0)
    words.insert(words.end(), {"--usize", std::to_string(request.universe)});
  for (const boot::SpawnCommand& one : request.commands) {
    if (&one != &request.commands.front()) words.emplace_back(":");
    words.insert(words.end(), {"-n", std::to_string(one.ranks), "-x", boot::kParentVariable});
    words.insert(words.end(), one.options.begin(), one.options.end());
    words.push_back(one.program);
    words.insert(words.end(), one.arguments.begin(), one.arguments.end());
  }
  return words;
}

/// mpirun divides programs by ":", and takes a first "-" for an option.
void require_plain(const boot::SpawnCommand& command) {
  if (command.program[0] == '-' || command.program == ":")
    throw Error(MPI_ERR_SPAWN,
                strf("command is \"%s\", but must be a program", command.program.c_str()));
  for (const std::string& word : command.arguments)
    if (word == ":")
      throw Error(MPI_ERR_SPAWN,
                  "an argument \":\" cannot be passed: mpirun divides programs by \":\"");
}

/// Variables of a launcher would make the new ranks members of the old world.
bool is_of_launcher(std::string_view variable) noexcept {
  for (const std::string_view prefix : {"PMI_", "PMIX_", "PMI2_", "PRTE_", "OMPI_", "SLURM_",
                                        "TERN_BOOT=", "TERN_BOOT_", "TERN_PARENT="})
    if (variable.substr(0, prefix.size()) == prefix) return true;
  return false;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// mpirun binds ranks; a new world shares the processors of the whole job.
class OnProcessorsOf {
 public:
  explicit OnProcessorsOf(int server) noexcept {
    cpu_set_t all;
    bound_ = server != 0 && ::sched_getaffinity(0, sizeof own_, &own_) == 0 &&
             ::sched_getaffinity(server, sizeof all, &all) == 0 &&
             ::sched_setaffinity(0, sizeof all, &all) == 0;
  }
  ~OnProcessorsOf() {
    if (bound_) ::sched_setaffinity(0, sizeof own_, &own_);
  }
  OnProcessorsOf(const OnProcessorsOf&) = delete;
  OnProcessorsOf& operator=(const OnProcessorsOf&) = delete;

 private:
  cpu_set_t own_{};
  bool bound_ = false;
};

std::string read_all(int fd) {
  std::string text;
  char part[64];
  for (;;) {
    const ssize_t bytes = ::read(fd, part, sizeof part);
    if (bytes > 0)
      text.append(part, static_cast<size_t>(bytes));
    else if (bytes == 0 || errno != EINTR)
      return text.substr(0, text.find('\n'));
  }
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) refuse("no pipe to a new world", errno);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  Fd out, in;
};

}  // namespace

std::vector<std::string> inheritable_variables() {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one)
    if (!is_of_launcher(*one)) variables.emplace_back(*one);
  return variables;
}

Link ask_mpirun(const boot::SpawnRequest& request, const WaitUntil& wait) {
  for (const boot::SpawnCommand& one : request.commands)
    for (const std::string& word : one.options)
      if (word == "-host" || word == "-hostfile") return Link();
  const std::string& door = the_process->boot->job().door;
  Fd socket = door.empty() ? Fd() : dial_local(door);
  ucred owner{};
  socklen_t bytes = sizeof owner;
  if (!socket.valid() || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &owner, &bytes) != 0 ||
      owner.uid != ::getuid())
    return Link();
  Link link(std::move(socket));
  link.send(pack(request), wait, -1);
  return link;
}

BackgroundWorld start_in_background(const boot::SpawnRequest& request, int server) {
  const std::string mpirun = install_prefix() + "/bin/mpirun";
  if (::access(mpirun.c_str(), X_OK) != 0) refuse(mpirun, errno);
  Pipe alive, said;
  for (const boot::SpawnCommand& one : request.commands) require_plain(one);
  std::vector<std::string> words = words_for(mpirun, request);
  std::vector<std::string> variables = request.environment;
  variables.push_back(std::string(boot::kParentVariable) + "=" + request.port);  // hidden from ps
  std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  constexpr int kHigh = 16;  // above the descriptors for the child
  const Fd high(::fcntl(alive.in.get(), F_DUPFD_CLOEXEC, kHigh));
  Fd answer(::fcntl(said.in.get(), F_DUPFD_CLOEXEC, kHigh));
  if (!high.valid() || !answer.valid()) refuse("no descriptor for a new world", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kSaid = 9;  // the highest descriptor of all shells
  posix_spawn_file_actions_adddup2(&actions, high.get(), kSaid + 1);
  posix_spawn_file_actions_adddup2(&actions, answer.get(), kSaid);
  pid_t shell = 0;
  int error = 0;
  {
    const OnProcessorsOf processors(server);
    error =
        ::posix_spawn(&shell, "/bin/sh", &actions, nullptr, arguments.data(), environment.data());
  }
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) refuse("/bin/sh", error);
  said.in.reset();
  answer.reset();
  alive.in.reset();
  std::string pid = read_all(said.out.get());
  while (::waitpid(shell, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (pid.empty()) throw Error(MPI_ERR_SPAWN, "/bin/sh could not start mpirun");
  return {std::move(alive.out), std::move(pid)};
}

}  // namespace tern::api

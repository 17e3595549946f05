// SPDX-License-Identifier: Apache-2.0
// mpirun: starts the ranks of an MPI program on this machine.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/wheels.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/mpirun/dry_run.hpp"
#include "tools/mpirun/elsewhere.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/option_parser.hpp"
#include "tools/mpirun/placement.hpp"
#include "tools/mpirun/spawn.hpp"
#include "tools/mpirun/standard_input.hpp"
#include "tools/mpirun/worlds.hpp"

namespace tern::mpirun {
namespace {

constexpr int kUsageError = 2;

sigset_t block_signals(sigset_t* blocked) {
  ::sigemptyset(blocked);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGQUIT, SIGXCPU})
    ::sigaddset(blocked, signal);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, blocked, &before);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  return before;
}

void on_signal(Worlds& worlds, int fd) {
  signalfd_siginfo info{};
  if (::read(fd, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGUSR1 || signal == SIGUSR2) return worlds.send_all(signal);
  if (signal == SIGQUIT) return worlds.tell_waiting("SIGQUIT");
  if (signal == SIGCONT) return worlds.continue_all();
  if (signal == SIGXCPU)
    worlds.console.say("mpirun has used all CPU time of ulimit -t; the job ends");
  if (signal != SIGTSTP) return worlds.interrupt(signal);
  worlds.send_all(SIGSTOP);
  ::raise(SIGSTOP);
}

void remark_on_wheels(const Options& options) {
  const std::string conflict = options.quiet ? "" : wheel_conflict(install_prefix());
  if (!conflict.empty()) std::fprintf(stderr, "mpirun: %s\n", conflict.c_str());
}

int run(const Options& options, Places places) {
  sigset_t signals;
  const sigset_t mask = block_signals(&signals);
  Loop loop;
  Worlds worlds(loop, options, mask);
  const Fd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  loop.watch(signal_fd.get(), EPOLLIN, [&] { on_signal(worlds, signal_fd.get()); });
  worlds.start(std::move(places));
  remark_on_wheels(options);  // beside the start of the ranks
  loop.run();
  return worlds.exit_code();
}

// Keeps mpirun's descriptors off the number of a closed standard input.
void open_standard_input() {
  if (::fcntl(0, F_GETFD) < 0) (void)open_null().release();
}

int start_elsewhere(const Handover& handover, const Options& options) {
  if (!options.dry_run) {
    remark_on_wheels(options);
    hand_over(handover);
  }
  return std::printf("starts: %s\n%s", quoted(handover.words).c_str(), handover.programs.c_str()) <
         0;
}

int start(Options& options) {
  const Allocation allocation = allocation_here();
  switch (launcher_for(options, allocation)) {
    case Launcher::kSrun:
      return start_elsewhere(for_srun(options, allocation), options);
    case Launcher::kPrterun:
      return start_elsewhere(for_prterun(options, find_prterun(), environ), options);
    case Launcher::kSelf:
      break;
  }
  Places places = place_job(options);
  if (!options.dry_run) return run(options, std::move(places));
  return std::fputs(
             dry_run_text(options, places, find_programs(options, std::getenv("PATH"))).c_str(),
             stdout) < 0;
}

// Keeps mpirun's descriptors off the number of a closed output.
void open_closed_outputs() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

int main(int argc, char** argv) {
  open_closed_outputs();
  open_standard_input();
  Options options;
  try {
    options = parse_options({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "mpirun: %s\n", error.what());
    return kUsageError;
  }
  if (options.help) return std::fputs(help_text().c_str(), stdout) < 0;
  if (options.version) return std::printf("mpirun (Tern MPI) %s\n", PACKAGE_VERSION) < 0;
  if (!options.quiet)
    for (const std::string& remark : options.remarks)
      std::fprintf(stderr, "mpirun: %s\n", remark.c_str());
  try {
    return start(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "mpirun: %s\n", error.what());
    if (error.mpi_class() == MPI_ERR_NO_SUCH_FILE) return 127;
    return error.mpi_class() == MPI_ERR_ARG ? kUsageError : 1;
  }
}

}  // namespace
}  // namespace tern::mpirun

int main(int argc, char** argv) { return tern::mpirun::main(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
// mpirun: starts the ranks of an MPI program on this machine.
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/error.hpp"
#include "mpi.h"
#include "tern_config.h"
#include "tools/mpirun/job.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/options.hpp"
#include "tools/mpirun/parameters.hpp"

namespace tern::mpirun {
namespace {

constexpr int kUsageError = 2;

// Signals become events; returns the mask that the ranks get.
sigset_t block_signals(sigset_t* blocked) {
  ::sigemptyset(blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGQUIT})
    ::sigaddset(blocked, signal);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, blocked, &before);
  ::signal(SIGPIPE, SIG_IGN);
  return before;
}

void on_signal(Job& job, int fd) {
  signalfd_siginfo info{};
  if (::read(fd, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGUSR1 || signal == SIGUSR2) return job.send_all(signal);
  if (signal == SIGQUIT) return job.tell_waiting("SIGQUIT");
  if (signal == SIGCONT) return job.continue_all();
  if (signal != SIGTSTP) return job.interrupt(signal);
  job.send_all(SIGSTOP);
  ::raise(SIGSTOP);
}

int run(const Options& options) {
  sigset_t signals;
  const sigset_t mask = block_signals(&signals);
  Loop loop;
  Job job(loop, options, mask);
  const Fd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  loop.watch(signal_fd.get(), EPOLLIN, [&] { on_signal(job, signal_fd.get()); });
  for (const std::string& complaint : parameter_complaints(options)) job.say(complaint);
  job.start();
  loop.run();
  return job.exit_code();
}

int main(int argc, char** argv) {
  Options options;
  try {
    options = parse_options({argv + 1, argv + argc});
  } catch (const Error& error) {
    std::fprintf(stderr, "mpirun: %s\n", error.what());
    return kUsageError;
  }
  if (options.help) return std::fputs(help_text().c_str(), stdout) < 0;
  if (options.version) return std::printf("mpirun (Tern MPI) %s\n", PACKAGE_VERSION) < 0;
  try {
    return run(options);
  } catch (const Error& error) {
    std::fprintf(stderr, "mpirun: %s\n", error.what());
    return error.mpi_class() == MPI_ERR_NO_SUCH_FILE ? 127 : 1;
  }
}

}  // namespace
}  // namespace tern::mpirun

int main(int argc, char** argv) { return tern::mpirun::main(argc, argv); }

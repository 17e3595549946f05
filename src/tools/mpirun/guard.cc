// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/guard.hpp"

#include <fcntl.h>
#include <ftw.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

// Untouched pages cost nothing.
struct Guard::Table {
  char directory[256];
  pid_t pids[kMostRanks];
};

Guard::Guard() {
  constexpr std::size_t bytes = sizeof(Table);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(MPI_ERR_NO_MEM,
                strf("mpirun cannot get %zu bytes: %s", bytes, std::strerror(errno)));
  memory_ = Mapping(memory, bytes);
  table_ = static_cast<Table*>(memory);
  start();
}

Guard::~Guard() {
  if (loop_ != nullptr) loop_->forget(pidfd_.get());
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  remove_directory();
}

volatile pid_t* Guard::free_place() {
  for (int tries = 0; tries < kMostRanks; ++tries) {
    volatile pid_t* const place = &table_->pids[next_];
    next_ = (next_ + 1) % kMostRanks;
    if (*place == 0) return place;
  }
  throw Error(MPI_ERR_NO_MEM, strf("an mpirun has %d ranks at most, in all worlds", kMostRanks));
}

void Guard::set_directory(const std::string& path) {
  TERN_ASSERT(path.size() < sizeof table_->directory);
  path.copy(table_->directory, path.size());
  table_->directory[path.size()] = '\0';
}

void Guard::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot make a pipe: %s", std::strerror(errno)));
  pipe_ = Fd(ends[1]);
  const Fd reading(ends[0]);
  pid_ = ::fork();
  if (pid_ < 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot start its guard process: %s", std::strerror(errno)));
  if (pid_ == 0) stand_guard(reading.get());
  pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

void Guard::keep_alive(Loop& loop) {
  loop_ = &loop;
  if (!pidfd_.valid()) return;
  loop.watch(pidfd_.get(), EPOLLIN, [this] {
    loop_->forget(pidfd_.get());
    ::waitpid(pid_, nullptr, 0);
    start();
    keep_alive(*loop_);
  });
}

void Guard::stand_guard(int pipe_end) noexcept {
  ::setsid();  // escapes the terminal's signals and a kill of mpirun's group
  ::prctl(PR_SET_NAME, "mpirun-guard");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(pipe_end, 0);
  ::close_range(1, ~0u,
                0);  // closes the writing end and the outputs whose end a reader may await
  char byte;
  while (::read(0, &byte, 1) < 0 && errno == EINTR) {
  }
  for (const pid_t pid : table_->pids)
    if (pid > 0) {
      ::kill(-pid, SIGKILL);
      ::kill(pid, SIGKILL);
    }
  remove_directory();
  ::_exit(0);
}

void Guard::remove_directory() const noexcept {
  if (table_->directory[0] == '\0') return;
  const auto remove_one = [](const char* path, const struct stat*, int, struct FTW*) {
    return std::remove(path);
  };
  // A rank just killed may still create a file in the directory.
  constexpr int kTries = 100, kMomentUs = 10'000;
  for (int i = 0; i < kTries && ::access(table_->directory, F_OK) == 0; ++i) {
    if (i > 0) ::usleep(kMomentUs);
    ::nftw(table_->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  }
}

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// Doorbell: arming, sleeping and waking.
#include "base/doorbell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/process_file.hpp"
#include "base/remote_fence.hpp"
#include "mpi.h"

namespace tern {
namespace {

// A full pipe is rung already.
void write_to(int fd) noexcept {
  const char byte = 1;
  (void)!::write(fd, &byte, 1);
}

uint64_t inode_of_pipe(int fd) noexcept {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISFIFO(found.st_mode) ? found.st_ino : 0;
}

// The sleeper's own process may be this one. Another may be about to leave: who opens the pipe for
// both directions reads it, too, and so never writes to one that is not read, which is SIGPIPE; and
// a descriptor may be another file's by now.
void write_to_pipe_of(pid_t pid, int fd, uint64_t inode) noexcept {
  if (pid == ::getpid()) return write_to(fd);
  const Fd opened = open_of_process(pid, fd, O_RDWR | O_NONBLOCK);
  if (!opened.valid()) return;  // it has left, or its sleep ends by itself
  if (inode_of_pipe(opened.get()) == inode) write_to(opened.get());
}

int64_t shortest(int64_t microseconds, int64_t most) noexcept {
  return microseconds == kNoLimit ? most : std::min(microseconds, most);
}

bool changed(const FutexWord& word) noexcept {
  return word.word != nullptr && word.word->load() != word.value;
}

}  // namespace

uint32_t Doorbell::arm() noexcept {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  uint32_t before = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(before, (before + kStep) | kArmed, std::memory_order_seq_cst)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return (before + kStep) | kArmed;
}

// A thread that arms meanwhile is counted, or has changed the word: the bell stays armed for it.
void Doorbell::disarm() noexcept {
  uint32_t before = state_.load(std::memory_order_seq_cst);
  if (sleepers_.fetch_sub(1, std::memory_order_seq_cst) == 1)
    state_.compare_exchange_strong(before, before & ~kArmed, std::memory_order_seq_cst);
}

int64_t Doorbell::longest_sleep(int64_t microseconds) noexcept {
  constexpr int64_t kMissedUs = 10'000;
  if (remote_fence() || microseconds == kUntilRung) return microseconds;
  return std::min(microseconds, kMissedUs);
}

void Doorbell::sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also) noexcept {
  FutexWord words[kMostWords] = {{&state_, armed}};
  int count = 1;
  if (also.awaited.word != nullptr) words[count++] = also.awaited;
  if (also.question.word != nullptr) words[count++] = also.question;
  const bool slept = count > 1 && futex_sleep(words, count, microseconds);
  if (!slept && also.awaited.word != nullptr)
    futex_sleep(also.awaited, shortest(microseconds, kUnfencedUs));
  else if (!slept)
    futex_sleep(words[0], microseconds);
  disarm();
}

// A ring before ppoll() changes the word; a ring after ppoll() makes the pipe readable.
void Doorbell::sleep(uint32_t armed, int64_t microseconds, const AlsoWords& also,
                     const Descriptors& descriptors) noexcept {
  const bool beside_a_word = also.awaited.word != nullptr;
  const int64_t us = beside_a_word ? shortest(microseconds, kUnfencedUs) : microseconds;
  pollfd watched[Descriptors::kMost + 1];
  nfds_t count = 0;
  watched[count++] = {reading_.load(std::memory_order_relaxed) - 1, POLLIN, 0};
  for (size_t i = 0; i < descriptors.count(); ++i) watched[count++] = {descriptors[i], POLLIN, 0};
  const timespec limit{us / 1'000'000, us % 1'000'000 * 1000};
  if (!changed(also.awaited) && !changed(also.question) &&
      state_.load(std::memory_order_seq_cst) == armed)
    (void)::ppoll(watched, count, us == kUntilRung ? nullptr : &limit, nullptr);
  char rings[64];
  if ((watched[0].revents & POLLIN) != 0) (void)!::read(watched[0].fd, rings, sizeof rings);
  disarm();
}

BellPipe::BellPipe(Doorbell& bell) : bell_(bell) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(MPI_ERR_NO_MEM, strf("no pipe to sleep on: %s", std::strerror(errno)));
  bell_.pid_.store(::getpid(), std::memory_order_relaxed);
  bell_.pipe_.store(inode_of_pipe(ends[0]), std::memory_order_relaxed);
  bell_.reading_.store(ends[0] + 1, std::memory_order_relaxed);
  bell_.writing_.store(ends[1] + 1, std::memory_order_seq_cst);
}

BellPipe::~BellPipe() {
  ::close(bell_.writing_.exchange(0, std::memory_order_seq_cst) - 1);
  ::close(bell_.reading_.exchange(0, std::memory_order_relaxed) - 1);
}

// One ring wakes all: the next sees an unarmed bell.
void Doorbell::wake() noexcept {
  uint32_t before = state_.load(std::memory_order_relaxed);
  while ((before & kArmed) != 0)
    if (state_.compare_exchange_weak(before, (before + kStep) & ~kArmed,
                                     std::memory_order_acq_rel)) {
      const int32_t pipe = writing_.load(std::memory_order_relaxed);
      if (TERN_UNLIKELY(pipe != 0))
        write_to_pipe_of(pid_.load(std::memory_order_relaxed), pipe - 1,
                         pipe_.load(std::memory_order_relaxed));
      else
        futex_wake_all(state_);
      return;
    }
}

}  // namespace tern

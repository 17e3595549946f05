// SPDX-License-Identifier: Apache-2.0
#include "base/doorbell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/remote_fence.hpp"
#include "mpi.h"

namespace tern {
namespace {

// A full pipe has already woken the sleeper.
void write_to(int fd) noexcept {
  const char byte = 1;
  (void)!::write(fd, &byte, 1);
}

/// Caches pipes, so a second ring needs no keeper. An open reading end prevents SIGPIPE after the
/// sleeper has left.
struct HandedPipes {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::vector<Fd>> by_inode;
};

HandedPipes& handed_pipes() {
  static HandedPipes& all = *new HandedPipes;
  return all;
}

// A descriptor from /proc works in both directions; a keeper hands out both ends of the pipe.
void write_to_pipe(const FileOffer& offer) {
  HandedPipes& handed = handed_pipes();
  const std::lock_guard<std::mutex> guard(handed.mutex);
  const auto known = handed.by_inode.find(offer.inode);
  if (known != handed.by_inode.end()) return write_to(known->second.front().get());
  FoundFile found = open_offered(offer, O_RDWR | O_NONBLOCK);
  if (!found.valid()) return;  // the sleeper left, or times out
  write_to(found.descriptors.front().get());
  if (found.descriptors.size() > 1) handed.by_inode[offer.inode] = std::move(found.descriptors);
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

// If a thread arms meanwhile, the bell stays armed.
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
  const bool is_short = also.awaited.word != nullptr || descriptors.wants_short_sleep();
  const int64_t us = is_short ? shortest(microseconds, kUnfencedUs) : microseconds;
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
  Fd reading(ends[0]), writing(ends[1]);
  offered_ = OfferedFile(writing, OfferedFile::Keep::kYes, reading.get());
  const FileOffer& offer = offered_.offer();
  bell_.pid_.store(offer.pid, std::memory_order_relaxed);
  bell_.pipe_.store(offer.inode, std::memory_order_relaxed);
  bell_.domain_.store(offer.domain, std::memory_order_relaxed);
  bell_.keeper_.store(offer.keeper, std::memory_order_relaxed);
  bell_.reading_.store(reading.release() + 1, std::memory_order_relaxed);
  bell_.writing_.store(writing.release() + 1, std::memory_order_seq_cst);
}

BellPipe::~BellPipe() {
  ::close(bell_.writing_.exchange(0, std::memory_order_seq_cst) - 1);
  ::close(bell_.reading_.exchange(0, std::memory_order_relaxed) - 1);
}

void Doorbell::wake() noexcept {
  uint32_t before = state_.load(std::memory_order_relaxed);
  while ((before & kArmed) != 0)
    if (state_.compare_exchange_weak(before, (before + kStep) & ~kArmed,
                                     std::memory_order_acq_rel)) {
      if (TERN_LIKELY(writing_.load(std::memory_order_relaxed) == 0)) return futex_wake_all(state_);
      const FileOffer offer = pipe_offer();
      if (offer.is_own_process()) return write_to(offer.fd);
      try {
        write_to_pipe(offer);
      } catch (const std::bad_alloc&) {
        // Without the ring, the sleeper times out.
      }
      return;
    }
}

FileOffer Doorbell::pipe_offer() const noexcept {
  return {pid_.load(std::memory_order_relaxed), writing_.load(std::memory_order_relaxed) - 1,
          pipe_.load(std::memory_order_relaxed), domain_.load(std::memory_order_relaxed),
          keeper_.load(std::memory_order_relaxed)};
}

}  // namespace tern

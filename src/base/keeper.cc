// SPDX-License-Identifier: Apache-2.0
#include "base/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

namespace tern {
namespace {

// The limit counts rounds, not seconds: a stopped job loses a single round.
constexpr int kRounds = 1000, kRoundMs = 10;
constexpr int kWaitRounds = 100;  // a wait for room

/// False if send() does not wait.
bool limit_waits(const MailSocket& socket) noexcept {
  const timeval limit{kWaitRounds * kRoundMs / 1000, 0};
  return (::fcntl(socket.descriptor(), F_GETFL) & O_NONBLOCK) == 0 &&
         ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0;
}

int send_patiently(const MailSocket& socket, const Address& at, const KeeperLetter& letter,
                   const int* descriptors, size_t count) noexcept {
  bool waits = false;
  for (int round = 0;;) {
    const int error =
        socket.send(at, &letter, sizeof letter, descriptors, count, waits ? 0 : MSG_DONTWAIT);
    // ETOOMANYREFS: unread descriptors count against ulimit -n.
    const bool again =
        error == EAGAIN || error == ENOBUFS || error == ETOOMANYREFS || error == EINTR;
    if (!again || round >= kRounds) return error;
    // Only a connected socket waits for room. The kernel wakes one waiting send() per free place;
    // poll() would wake all, thousands of ranks at their start.
    const bool waited = waits && error == EAGAIN;
    round += waited ? kWaitRounds : 1;
    waits = error == EAGAIN && at.length == 0 && limit_waits(socket);
    if (!waits) ::usleep(kRoundMs * 1000);
  }
}

bool await_answer(const MailSocket& socket) noexcept {
  pollfd answer{socket.descriptor(), POLLIN, 0};
  for (int round = 0; round < kRounds; ++round)
    if (::poll(&answer, 1, kRoundMs) > 0) return true;
  return false;
}

}  // namespace

void Keeper::keep(uint64_t number, std::vector<Fd> descriptors) {
  const std::lock_guard<std::mutex> guard(mutex_);
  kept_[number] = std::move(descriptors);
}

void Keeper::drop(uint64_t number) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  kept_.erase(number);
}

void Keeper::hand(uint64_t number, const Fd& to) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = kept_.find(number);
  if (found == kept_.end()) return;
  int descriptors[MailSocket::kMostDescriptors];
  size_t count = 0;
  for (const Fd& one : found->second)
    if (count < MailSocket::kMostDescriptors) descriptors[count++] = one.get();
  const MailSocket socket(Fd(::fcntl(to.get(), F_DUPFD_CLOEXEC, 0)));
  const KeeperLetter answer{KeeperLetter::kMagic, KeeperLetter::Kind::kKeep, number};
  (void)socket.send({}, &answer, sizeof answer, descriptors, count);
}

void Keeper::serve() {
  KeeperLetter letter;
  std::vector<Fd> descriptors;
  Address from;
  while (socket_.receive(&letter, sizeof letter, &descriptors, &from) == sizeof letter) {
    if (letter.magic != KeeperLetter::kMagic) continue;
    if (letter.kind == KeeperLetter::Kind::kKeep && !descriptors.empty())
      keep(letter.number, std::move(descriptors));
    else if (letter.kind == KeeperLetter::Kind::kDrop)
      drop(letter.number);
    else if (letter.kind == KeeperLetter::Kind::kHand && descriptors.size() == 1)
      hand(letter.number, descriptors.front());
  }
}

std::shared_ptr<KeeperThread> KeeperThread::start() noexcept {
  MailSocket socket{Address{}};
  Fd stop(::eventfd(0, EFD_CLOEXEC));
  if (!socket.valid() || !stop.valid()) return nullptr;
  std::shared_ptr<KeeperThread> made(new (std::nothrow)
                                         KeeperThread(std::move(socket), std::move(stop)));
  if (made == nullptr) return nullptr;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(
      &made->thread_, nullptr,
      [](void* self) -> void* {
        static_cast<KeeperThread*>(self)->run();
        return nullptr;
      },
      made.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) return made;
  made->thread_ = {};
  return nullptr;
}

KeeperThread::~KeeperThread() {
  if (thread_ == pthread_t{}) return;
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  ::pthread_join(thread_, nullptr);
}

void KeeperThread::run() noexcept {
  pollfd both[] = {{keeper_.descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while ((both[1].revents & POLLIN) == 0) {
    if (::poll(both, 2, -1) <= 0) continue;
    try {
      keeper_.serve();
    } catch (const std::bad_alloc&) {
      // Out of memory: the letter's socket closes, and the asking process sees the closed socket.
    }
  }
}

bool keep_at(const MailSocket& socket, const Address& at, uint64_t number,
             std::initializer_list<int> descriptors) noexcept {
  const KeeperLetter letter{KeeperLetter::kMagic, KeeperLetter::Kind::kKeep, number};
  return send_patiently(socket, at, letter, descriptors.begin(), descriptors.size()) == 0;
}

void drop_at(const MailSocket& socket, const Address& at, uint64_t number) noexcept {
  const KeeperLetter letter{KeeperLetter::kMagic, KeeperLetter::Kind::kDrop, number};
  (void)send_patiently(socket, at, letter, nullptr, 0);
}

std::vector<Fd> ask(const MailSocket& socket, const Address& at, uint64_t number,
                    std::string* why) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    *why = std::strerror(errno);
    return {};
  }
  const MailSocket mine{Fd(ends[0])};
  Fd theirs(ends[1]);
  const KeeperLetter letter{KeeperLetter::kMagic, KeeperLetter::Kind::kHand, number};
  const int error = send_patiently(socket, at, letter, &ends[1], 1);
  theirs.reset();
  std::vector<Fd> found;
  if (error != 0) {
    *why = std::strerror(error);
  } else if (!await_answer(mine)) {
    *why = "no answer within 10 s";
  } else {
    KeeperLetter answer{};
    Address from;
    if (mine.receive(&answer, sizeof answer, &found, &from) != sizeof answer ||
        answer.number != number)
      found.clear();
    if (found.empty())
      *why = "no descriptor received: too many descriptors, or the owner has ended";
  }
  return found;
}

}  // namespace tern

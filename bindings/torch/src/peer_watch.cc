// SPDX-License-Identifier: Apache-2.0
// Watches the peers' processes.
#include "peer_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>

#include "group.hpp"
#include "hang_report.hpp"
#include "session.hpp"

namespace torch_tern {

namespace {

// Poll intervals in milliseconds: for waits after an end, and for processes without a pidfd.
constexpr int kBetweenLooks = 200, kBetweenSearches = 1000;
constexpr std::size_t kLongestText = 64 * 1024;

struct CallsOf {
  std::uint64_t group, calls;
};

std::uint64_t key_of(const std::string& group) { return std::hash<std::string>()(group); }

// The abstract namespace leaves no file behind.
socklen_t address_of(std::int64_t pid, std::uint64_t start, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tern-torch-%lld-%llu",
                    static_cast<long long>(pid), static_cast<unsigned long long>(start));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

int descriptor_of(const PeerWatch::Peer& peer) {
  const int made = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(peer.pid), 0));
  if (made >= 0 && state_of(peer.pid).start != peer.start) {  // the PID was reused
    close(made);
    return -1;
  }
  return made;
}

}  // namespace

// The watch is never destroyed: the thread may outlive main().
PeerWatch& PeerWatch::get() {
  static auto* const one = new PeerWatch;
  return *one;
}

void PeerWatch::open() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) {
    return;
  }
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  sockaddr_un address;
  const socklen_t length = address_of(getpid(), state_of(getpid()).start, address);
  // Without the socket, a peer's normal exit looks like a kill.
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    std::fprintf(stderr, "tern: no socket for farewells of peers: %s\n", std::strerror(errno));
  }
  const timeval timeout{0, 200'000};  // an exiting peer does not read
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

void PeerWatch::begin(const std::shared_ptr<HangReport>& world, std::uint64_t own_word,
                      std::vector<Peer> peers) {
  leave();
  const std::lock_guard lock(mutex_);
  for (const Peer& peer : peers_) {
    close(peer.descriptor);
  }
  world_ = world;
  own_word_ = own_word;
  calls_.clear();
  peers_ = std::move(peers);
  for (Peer& peer : peers_) {
    peer.descriptor = descriptor_of(peer);
  }
  may_leave_ = true;
  eventfd_write(wake_, 1);
  if (!thread_.joinable() && !peers_.empty()) {
    is_stopping_ = false;
    thread_ = std::thread([this] { run(); });
  }
}

void PeerWatch::note_calls(const std::string& group, std::uint64_t calls) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& most = calls_[key_of(group)];
  most = std::max(most, calls);
}

void PeerWatch::leave() {
  const std::lock_guard lock(mutex_);
  if (!may_leave_ || is_forked()) {
    return;
  }
  may_leave_ = false;
  std::vector<CallsOf> text{{own_word_, 0}};
  for (const auto& [group, calls] : calls_) {
    text.push_back({group, calls});
  }
  text.resize(std::min(text.size(), kLongestText / sizeof(CallsOf)));
  for (const Peer& peer : peers_) {
    if (!peer.has_died && !peer.has_left) {
      sockaddr_un address;
      const socklen_t length = address_of(peer.pid, peer.start, address);
      sendto(socket_, text.data(), text.size() * sizeof(CallsOf), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address), length);
    }
  }
}

void PeerWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    eventfd_write(wake_, 1);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  thread_ = std::thread();
}

bool PeerWatch::has_left(int rank) {
  const std::lock_guard lock(mutex_);
  return std::any_of(peers_.begin(), peers_.end(),
                     [rank](const Peer& peer) { return peer.rank == rank && peer.has_left; });
}

void PeerWatch::run() {
  for (;;) {
    sleep();
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) {
        return;
      }
      // a farewell precedes the end of the sender, so the ends are read first
      look_for_ends();
    }
    report();
  }
}

bool PeerWatch::knows_ends() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.has_died || peer.has_left; });
}

void PeerWatch::sleep() {
  std::vector<pollfd> all;
  int time = -1;
  {
    const std::lock_guard lock(mutex_);
    all = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
    for (const Peer& peer : peers_) {
      if (peer.descriptor >= 0) {
        all.push_back({peer.descriptor, POLLIN, 0});
      } else if (!peer.has_died && !peer.has_left) {
        time = kBetweenSearches;
      }
    }
    if (knows_ends() && !world_.expired()) {
      time = kBetweenLooks;
    }
  }
  poll(all.data(), all.size(), time);
}

void PeerWatch::look_for_ends() {
  eventfd_t count = 0;
  eventfd_read(wake_, &count);
  std::vector<Peer*> ended;
  for (Peer& peer : peers_) {
    pollfd one{peer.descriptor, POLLIN, 0};
    if (peer.descriptor >= 0 && poll(&one, 1, 0) == 1) {
      close(peer.descriptor);
      peer.descriptor = -1;
      ended.push_back(&peer);
    } else if (peer.descriptor < 0 && !peer.has_died && !peer.has_left &&
               state_of(peer.pid).start != peer.start) {
      ended.push_back(&peer);
    }
  }
  read_farewells();
  for (Peer* peer : ended) {
    peer->has_died = !peer->has_left;
  }
}

void PeerWatch::read_farewells() {
  std::vector<CallsOf> text(kLongestText / sizeof(CallsOf));
  for (;;) {
    const ssize_t bytes = recv(socket_, text.data(), text.size() * sizeof(CallsOf), MSG_DONTWAIT);
    if (bytes < static_cast<ssize_t>(sizeof(CallsOf))) {
      return;
    }
    const auto sender = std::find_if(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return peer.word == text.front().group;
    });
    if (sender == peers_.end()) {
      continue;  // from an earlier world
    }
    sender->has_left = true;
    for (std::size_t i = 1; i < static_cast<std::size_t>(bytes) / sizeof(CallsOf); ++i) {
      sender->calls[text[i].group] = text[i].calls;
    }
  }
}

// Groups may end here, so the caller holds no lock.
void PeerWatch::report() {
  std::vector<Peer> ended;
  std::shared_ptr<HangReport> world;
  {
    const std::lock_guard lock(mutex_);
    world = world_.lock();
    std::copy_if(peers_.begin(), peers_.end(), std::back_inserter(ended),
                 [](const Peer& peer) { return peer.has_died || peer.has_left; });
  }
  if (!world || ended.empty()) {
    return;
  }
  for (const std::shared_ptr<Group>& group : living_groups()) {
    if (group->hang_report() != world || group->fate().dead()) {
      continue;
    }
    for (const Peer& peer : ended) {
      const auto calls = peer.calls.find(key_of(group->name()));
      group->note_end_of({peer.rank, peer.has_died, calls == peer.calls.end() ? 0 : calls->second});
    }
  }
}

}  // namespace torch_tern

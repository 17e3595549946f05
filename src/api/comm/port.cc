// SPDX-License-Identifier: Apache-2.0
#include "api/comm/port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::api {
namespace {

constexpr std::string_view kMark = "tern1";
constexpr char kBetween = '!';
constexpr double kPolite = 2;  // seconds that a caller may be silent
constexpr size_t kMostBlob = size_t{1} << 30;
using Nonce = std::array<uint64_t, 2>;

[[noreturn]] void refuse(const char* what, const char* why) {
  throw Error(MPI_ERR_PORT, strf("%s: %s", what, why));
}

/// SipHash-2-4 (Aumasson and Bernstein 2012) of whole words.
uint64_t keyed_hash(const Secret& key, const std::vector<uint64_t>& words) noexcept {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261, v3 = key[1] ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto take = [&](uint64_t word) { v3 ^= word, round(), round(), v0 ^= word; };
  for (const uint64_t word : words) take(word);
  take(uint64_t{words.size() * sizeof words[0]} << 56);
  v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) round();
  return v0 ^ v1 ^ v2 ^ v3;
}

template <class T>
T random_words() {
  T words;
  if (::getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words))
    refuse("no random numbers for a port", std::strerror(errno));
  return words;
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class T>
T value_in(const std::string& blob) {
  T value;
  if (blob.size() != sizeof value) refuse("the other end of the port", "no leader of Tern answers");
  std::memcpy(&value, blob.data(), sizeof value);
  return value;
}

uint64_t proof(const Secret& secret, uint64_t role, const Nonce& caller, const Nonce& listener) {
  return keyed_hash(secret, {role, caller[0], caller[1], listener[0], listener[1]});
}

constexpr uint64_t kCaller = 1, kListener = 2;

void set_options(int fd) noexcept {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

sockaddr_un local_address(const std::string& name, socklen_t* length) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);  // an abstract name
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return address;
}

std::string own_addresses() {
  std::string all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    char text[INET_ADDRSTRLEN];
    const auto& address = *reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) == nullptr) continue;
    if (!all.empty()) all += ',';
    all += text;
  }
  ::freeifaddrs(list);
  return all;
}

bool is_ready(int fd, short events) noexcept {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, 0) > 0;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Fd dial_inet(const std::string& host, int port, const WaitUntil& wait) {
  constexpr double kSeconds = 5;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return Fd();
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS)
    return Fd();
  if (!wait([&] { return is_ready(socket.get(), POLLOUT); }, kSeconds)) return Fd();
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) return Fd();
  set_options(socket.get());
  return socket;
}

}  // namespace

namespace {

/// Moves bytes of one direction; the number moved, 0 if the socket is not ready. Throws Error.
size_t move_some(int fd, char* data, size_t bytes, bool out) {
  if (bytes == 0) return 0;
  for (;;) {
    const ssize_t moved = out ? ::send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : ::recv(fd, data, bytes, MSG_DONTWAIT);
    if (moved > 0) return static_cast<size_t>(moved);
    if (moved == 0) refuse("the other end of the port", "closed");
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) refuse("the other end of the port", std::strerror(errno));
  }
}

std::string framed(std::string_view blob) {
  const uint64_t length = blob.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + std::string(blob);
}

/// A blob that arrives in parts.
class Incoming {
 public:
  explicit Incoming(size_t most) : most_(most) {}
  [[nodiscard]] bool complete() const noexcept { return has_length_ && done_ == blob.size(); }
  size_t take(int fd) {
    if (has_length_) return count(move_some(fd, blob.data() + done_, blob.size() - done_, false));
    const size_t moved = count(
        move_some(fd, reinterpret_cast<char*>(&length_) + done_, sizeof length_ - done_, false));
    if (done_ < sizeof length_) return moved;
    if (length_ > most_) refuse("the other end of the port", "no leader of Tern answers");
    blob.resize(length_);
    has_length_ = true;
    done_ = 0;
    return moved;
  }
  std::string blob;

 private:
  size_t count(size_t moved) noexcept {
    done_ += moved;
    return moved;
  }
  const size_t most_;
  uint64_t length_ = 0;
  bool has_length_ = false;
  size_t done_ = 0;
};

}  // namespace

Fd dial_local(const std::string& name) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length;
  const sockaddr_un address = local_address(name, &length);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return Fd();
  return socket;
}

// Both ends may send at once, so each end sends and receives at once.
std::string Link::exchange(const std::string_view* out, size_t most, const WaitUntil& wait,
                           double seconds) {
  constexpr double kNsPerSecond = 1e9;
  const int64_t begin = now_ns();
  std::string rest = out == nullptr ? std::string() : framed(*out);
  size_t sent = 0;
  Incoming in(most);
  while (sent < rest.size() || (most != 0 && !in.complete())) {
    size_t moved = move_some(socket_.get(), rest.data() + sent, rest.size() - sent, true);
    sent += moved;
    if (most != 0 && !in.complete()) moved += in.take(socket_.get());
    if (moved != 0) continue;
    const auto events =
        static_cast<short>((most != 0 ? POLLIN : 0) | (sent < rest.size() ? POLLOUT : 0));
    const double left = seconds - static_cast<double>(now_ns() - begin) / kNsPerSecond;
    if (seconds >= 0 && left <= 0)
      refuse("the other end of the port", strf("silent for %g s", seconds).c_str());
    (void)wait([&] { return is_ready(socket_.get(), events); }, seconds < 0 ? -1 : left);
  }
  return std::move(in.blob);
}

void Link::send(std::string_view blob, const WaitUntil& wait, double seconds) {
  (void)exchange(&blob, 0, wait, seconds);
}

std::string Link::receive(size_t most, const WaitUntil& wait, double seconds) {
  return exchange(nullptr, most, wait, seconds);
}

std::string Link::swap(std::string_view blob, const WaitUntil& wait, double seconds) {
  return exchange(&blob, kMostBlob, wait, seconds);
}

Listener::Listener() : secret_(random_words<Secret>()) {
  constexpr int kBacklog = 128;
  const auto unique = random_words<std::array<uint64_t, 1>>();
  const std::string local =
      strf("tern-port-%d-%016llx", ::getpid(), static_cast<unsigned long long>(unique[0]));
  socklen_t length;
  const sockaddr_un address = local_address(local, &length);
  local_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::bind(local_.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(local_.get(), kBacklog) != 0)
    refuse("cannot open a port", std::strerror(errno));
  int port = 0;
  inet_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t bytes = sizeof any;
  if (::bind(inet_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
      ::listen(inet_.get(), kBacklog) == 0 &&
      ::getsockname(inet_.get(), reinterpret_cast<sockaddr*>(&any), &bytes) == 0)
    port = ntohs(any.sin_port);
  else
    inet_.reset();  // a host without a network
  name_ = strf("%s!%s!%s:%d!%016llx%016llx", kMark.data(), local.c_str(), own_addresses().c_str(),
               port, static_cast<unsigned long long>(secret_[0]),
               static_cast<unsigned long long>(secret_[1]));
  if (name_.size() >= MPI_MAX_PORT_NAME)
    refuse("cannot open a port", "this host has too many addresses for MPI_MAX_PORT_NAME");
}

Fd Listener::next() {
  for (const Fd* one : {&local_, &inet_}) {
    if (!one->valid()) continue;
    Fd caller(::accept4(one->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!caller.valid()) continue;
    if (one == &inet_) set_options(caller.get());
    return caller;
  }
  return Fd();
}

Link Listener::accept(const WaitUntil& wait, double seconds) {
  constexpr double kNsPerSecond = 1e9;
  const int64_t begin = now_ns();
  for (;;) {
    Fd caller;
    const double left =
        seconds < 0 ? seconds : seconds - static_cast<double>(now_ns() - begin) / kNsPerSecond;
    if (!wait([&] { return (caller = next()).valid(); },
              seconds < 0 ? seconds : std::max(left, 0.0)))
      refuse("no process has connected to the port", strf("the limit is %g s", seconds).c_str());
    Link link(std::move(caller));
    try {
      const auto theirs = value_in<Nonce>(link.receive(sizeof(Nonce), wait, kPolite));
      const auto ours = random_words<Nonce>();
      link.send(bytes_of(ours), wait, kPolite);
      const auto said = value_in<uint64_t>(link.receive(sizeof(uint64_t), wait, kPolite));
      if (said != proof(secret_, kCaller, theirs, ours)) continue;
      const uint64_t answer = proof(secret_, kListener, theirs, ours);
      link.send(bytes_of(answer), wait, kPolite);
      return link;
    } catch (const Error&) {
      continue;  // wrong secret, or gone
    }
  }
}

Link connect_to(const std::string& name, const WaitUntil& wait, double seconds) {
  const std::vector<std::string> parts = split(name, kBetween);
  constexpr size_t kParts = 4, kSecretDigits = 32;
  if (parts.size() != kParts || parts[0] != kMark || parts[3].size() != kSecretDigits)
    throw Error(MPI_ERR_PORT, strf("\"%s\" is not the name of a port; MPI_Open_port returns names",
                                   name.c_str()));
  constexpr int kHex = 16;
  const Secret secret{std::strtoull(parts[3].substr(0, kSecretDigits / 2).c_str(), nullptr, kHex),
                      std::strtoull(parts[3].substr(kSecretDigits / 2).c_str(), nullptr, kHex)};
  Fd socket = dial_local(parts[1]);
  const size_t colon = parts[2].rfind(':');
  const int port = colon == std::string::npos ? 0 : std::atoi(parts[2].c_str() + colon + 1);
  if (port > 0)
    for (const std::string& host : split(std::string_view(parts[2]).substr(0, colon), ','))
      if (!socket.valid()) socket = dial_inet(host, port, wait);
  if (!socket.valid())
    throw Error(MPI_ERR_PORT, strf("port \"%s\" has no listener: closed, or the process has ended",
                                   name.c_str()));
  Link link(std::move(socket));
  const auto ours = random_words<Nonce>();
  link.send(bytes_of(ours), wait, seconds);
  const auto theirs = value_in<Nonce>(link.receive(sizeof(Nonce), wait, seconds));
  const uint64_t said = proof(secret, kCaller, ours, theirs);
  link.send(bytes_of(said), wait, seconds);
  if (value_in<uint64_t>(link.receive(sizeof(uint64_t), wait, seconds)) !=
      proof(secret, kListener, ours, theirs))
    refuse("the other end of the port", "a wrong secret");
  return link;
}

}  // namespace tern::api

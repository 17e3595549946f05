// SPDX-License-Identifier: Apache-2.0
// Listening for PMIx clients.
#include "tools/mpirun/pmix_door.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pmix_version.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Fd tcp_socket() { return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

// The user who owns the far end of this connection, or -1. All of both addresses counts: any user
// may have the peer's port on another address of this host. And the far end must still be open:
// what its user has closed has no owner any more, and is listed as root's.
long owner_of_peer(const sockaddr_in& peer, const sockaddr_in& own) {
  constexpr unsigned kEstablished = 1;
  std::FILE* table = std::fopen("/proc/net/tcp", "re");
  if (table == nullptr) return -1;
  char line[512];
  long owner = -1;
  while (owner < 0 && std::fgets(line, sizeof line, table) != nullptr) {
    sockaddr_in local{}, remote{};  // addresses as they lie in memory, ports as numbers
    unsigned local_port = 0, remote_port = 0, state = 0;
    long uid = -1;
    if (std::sscanf(line, "%*d: %8x:%4x %8x:%4x %2x %*x:%*x %*x:%*x %*x %ld",
                    &local.sin_addr.s_addr, &local_port, &remote.sin_addr.s_addr, &remote_port,
                    &state, &uid) == 6 &&
        state == kEstablished && local.sin_addr.s_addr == peer.sin_addr.s_addr &&
        local_port == ntohs(peer.sin_port) && remote.sin_addr.s_addr == own.sin_addr.s_addr &&
        remote_port == ntohs(own.sin_port))
      owner = uid;
  }
  std::fclose(table);
  return owner;
}

// A name that cannot be guessed, for a directory of this user alone.
std::string directory_name() {
  const char* base = std::getenv("TMPDIR");
  if (base == nullptr || *base != '/' || std::strlen(base) > 160) base = "/tmp";
  std::uint64_t random[2] = {};
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    throw Error(MPI_ERR_OTHER,
                strf("mpirun gets no random numbers from the kernel: %s", std::strerror(errno)));
  return strf("%s/tern-mpirun.%016llx%016llx", base, static_cast<unsigned long long>(random[0]),
              static_cast<unsigned long long>(random[1]));
}

}  // namespace

PmixDoor::PmixDoor(Loop& loop, PmixFacts facts, boot::SharedJob& shared, Guard& guard)
    : loop_(loop),
      facts_(std::move(facts)),
      shared_(shared),
      guard_(guard),
      listener_(tcp_socket()) {
  const sockaddr_in address = loopback(0);
  // Without it only foreign MPI libraries fail to start, and they say so.
  if (!listener_.valid() || ::bind(listener_.get(), generic(address), sizeof address) != 0 ||
      ::listen(listener_.get(), SOMAXCONN) != 0)
    return;
  port_ = port_of(listener_.get());
  loop_.watch(listener_.get(), EPOLLIN, [this] { on_knock(); });
}

PmixDoor::~PmixDoor() = default;

void PmixDoor::tell(Environment& environment) const {
  if (port_ == 0) return;
  const std::string uri = strf("mpirun.%d;tcp4://127.0.0.1:%d", ::getpid(), port_);
  for (const char* name : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                           "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"})
    environment.set(name, uri);
  environment.set("PMIX_SECURITY_MODE", "native");
  environment.set("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC");
  environment.set("PMIX_GDS_MODULE", "hash");
  environment.set("PMIX_HOSTNAME", facts_.host);
  environment.set("PMIX_VERSION", strf("%ld.%ld.%ld", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR,
                                       PMIX_VERSION_RELEASE));
}

void PmixDoor::start_server() {
  const std::string directory = directory_name();
  guard_.set_directory(directory);  // before it is made: mpirun may be killed at any moment
  if (::mkdir(directory.c_str(), 0700) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot make the directory %s for its PMIx server: %s; ranks that need "
                     "PMIx cannot start (TMPDIR names another place)",
                     directory.c_str(), std::strerror(errno)));
  server_ = std::make_unique<PmixServer>(loop_, facts_, shared_, directory);
}

void PmixDoor::on_knock() {
  sockaddr_in peer{};
  socklen_t bytes = sizeof peer;
  Fd client(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &bytes,
                      SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client.valid()) return;
  if (owner_of_peer(peer, loopback(port_)) != static_cast<long>(::getuid())) return;
  try {
    let_in(std::move(client));
  } catch (const Error& error) {
    if (on_trouble) on_trouble(error.what());
  }
}

void PmixDoor::let_in(Fd client) {
  if (server_ == nullptr) start_server();
  const sockaddr_in address = loopback(server_->port());
  Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!server.valid() || ::connect(server.get(), generic(address), sizeof address) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot reach its own PMIx server: %s", std::strerror(errno)));
  const int on = 1;
  for (const int fd : {client.get(), server.get()})
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::erase_if(relays_, [](const auto& relay) { return relay->finished(); });
  relays_.push_back(std::make_unique<Relay>(loop_, std::move(client), std::move(server)));
}

}  // namespace tern::mpirun

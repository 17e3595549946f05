// SPDX-License-Identifier: Apache-2.0
// Clients of mpirun's PMIx server: their owners, and the handover to libpmix.
#include "tools/mpirun/pmix_clients.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

std::deque<Fd> the_clients;
std::uint64_t the_handed_over = 0, the_taken = 0;
std::mutex the_clients_mutex;
std::atomic<in_port_t> the_clients_port = 0;  // of all clients' sockets, in network order

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

sockaddr_in name_of(int fd, int (*function)(int, sockaddr*, socklen_t*)) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  function(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
  return address;
}

// Returns the owner of the socket from `from` to `to`; -1 if unknown or in another state.
long owner_of(const sockaddr_in& from, const sockaddr_in& to, int state) {
  struct {
    nlmsghdr head{};
    inet_diag_req_v2 body{};
  } question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = AF_INET;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.id = {from.sin_port,        to.sin_port, {from.sin_addr.s_addr},
                      {to.sin_addr.s_addr}, 0,           {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}};
  struct {
    nlmsghdr head{};
    inet_diag_msg body{};
    char attributes[1024];
  } answer;
  const Fd kernel(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel.valid() || ::send(kernel.get(), &question, sizeof question, 0) < 0 ||
      ::recv(kernel.get(), &answer, sizeof answer, 0) < 0 ||
      answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || answer.body.idiag_state != state)
    return -1;
  return answer.body.idiag_uid;
}

// Replaces libc's accept() for libpmix. A connection to libpmix's port is only a signal: the
// function returns a waiting client instead, or closes the connection.
int accept_client(int fd, sockaddr* address, socklen_t* bytes) {
  const Fd woken(::accept4(fd, address, bytes, SOCK_CLOEXEC));
  if (!woken.valid()) return -1;
  const std::lock_guard lock(the_clients_mutex);
  if (the_clients.empty()) {
    errno = EAGAIN;
    return -1;
  }
  const int client = the_clients.front().release();
  the_clients.pop_front();
  ++the_taken;
  return client;
}

bool is_clients(int fd) noexcept {
  const int kept = errno;
  const sockaddr_in own = name_of(fd, ::getsockname);
  errno = kept;
  return own.sin_family == AF_INET && own.sin_port != 0 && own.sin_port == the_clients_port;
}

// Replaces libc's send() for libpmix. A send to a dead client counts as done. Otherwise libpmix (to
// 5.0) releases the rank twice in its handshake, and crashes at the next client. The next read
// tells libpmix of the death.
ssize_t send_to_client(int fd, const void* data, std::size_t bytes, int flags) {
  const ssize_t sent = ::sendto(fd, data, bytes, flags, nullptr, 0);
  const bool lost = sent < 0 && (errno == EPIPE || errno == ECONNRESET);
  if (!lost || !is_clients(fd)) return sent;
  return static_cast<ssize_t>(bytes);
}

}  // namespace

Fd listen_on_loopback(int* port) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_in address = loopback(0);
  if (listener.valid() && ::bind(listener.get(), generic(address), sizeof address) == 0 &&
      ::listen(listener.get(), SOMAXCONN) == 0)
    *port = ntohs(the_clients_port = name_of(listener.get(), ::getsockname).sin_port);
  return listener;
}

// libpmix trusts the user name in a client's message, and waits forever for a silent client. If the
// kernel does not report owners even for mpirun's own listener, the job's secret name is the only
// guard.
bool is_from_other_user(int client, int listener) {
  const sockaddr_in own = name_of(client, ::getsockname), peer = name_of(client, ::getpeername);
  const long user = ::getuid();
  return owner_of(peer, own, TCP_ESTABLISHED) != user &&
         owner_of(name_of(listener, ::getsockname), {}, TCP_LISTEN) == user;
}

// libpmix cannot adopt an existing connection. An empty connection wakes libpmix's listening
// thread, and accept_client() returns the client instead.
std::uint64_t hand_to_libpmix(Fd client, int port) {
  const sockaddr_in address = loopback(port);
  const Fd empty(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::lock_guard lock(the_clients_mutex);
  if (!empty.valid() || ::connect(empty.get(), generic(address), sizeof address) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot reach its own PMIx server: %s", std::strerror(errno)));
  the_clients.push_back(std::move(client));
  return the_handed_over++;
}

bool is_taken(std::uint64_t number) {
  const std::lock_guard lock(the_clients_mutex);
  return number < the_taken;
}

}  // namespace tern::mpirun

extern "C" __attribute__((visibility("default"))) int accept(int fd, sockaddr* address,
                                                             socklen_t* bytes) {
  return tern::mpirun::accept_client(fd, address, bytes);
}

extern "C" __attribute__((visibility("default"))) ssize_t send(int fd, const void* data,
                                                               std::size_t bytes, int flags) {
  return tern::mpirun::send_to_client(fd, data, bytes, flags);
}

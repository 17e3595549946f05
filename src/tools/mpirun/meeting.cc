// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/meeting.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/process_id.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

std::array<int, 2> make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot make a pair of sockets for its ranks: %s; see ulimit -n",
                     std::strerror(errno)));
  return ends;
}

}  // namespace

Meeting::Meeting(const JobFacts& facts) : Meeting(facts, make_pair()) {}
Meeting::Meeting(const JobFacts& facts, std::array<int, 2> sockets)
    : memory(make_memfd("tern-boot", boot::SharedJob::bytes_for(facts.size))),
      event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      keeper(MailSocket(Fd(sockets[0]))),
      keeper_end(sockets[1]),
      shared(boot::SharedJob::create(
          memory.get(), {facts.size, facts.universe_size, ::getpid(), event.get(), facts.id,
                         keeper_end.get(), proc_domain()})) {}

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// Forwarding the terminal to rank 0.
#include "tools/mpirun/terminal_input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {

TerminalInput::TerminalInput(Loop& loop, int terminal) : loop_(loop), terminal_(terminal) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot make a pipe: %s", std::strerror(errno)));
  reader_ = Fd(ends[0]);
  writer_ = Fd(ends[1]);
  ::fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
  look_again();
}

TerminalInput::~TerminalInput() { end(); }

void TerminalInput::look_again() {
  if (writer_.valid() && held_.empty()) loop_.watch(terminal_, EPOLLIN, [this] { on_typed(); });
}

void TerminalInput::on_typed() {
  // In the background reading would stop mpirun; SIGCONT tells of the foreground.
  if (::tcgetpgrp(terminal_) != ::getpgrp()) return loop_.forget(terminal_);
  char buffer[4096];
  const ssize_t got = ::read(terminal_, buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return end();
  held_.assign(buffer, static_cast<std::size_t>(got));
  pass_on();
}

void TerminalInput::pass_on() {
  const ssize_t put = ::write(writer_.get(), held_.data(), held_.size());
  if (put < 0 && errno != EAGAIN && errno != EINTR) return end();  // rank 0 reads no more
  if (put > 0) held_.erase(0, static_cast<std::size_t>(put));
  if (held_.empty()) {
    loop_.forget(writer_.get());
    look_again();
  } else {
    loop_.forget(terminal_);
    loop_.watch(writer_.get(), EPOLLOUT, [this] { pass_on(); });
  }
}

void TerminalInput::end() {
  loop_.forget(terminal_);
  if (writer_.valid()) loop_.forget(writer_.get());
  writer_.reset();
}

}  // namespace tern::mpirun

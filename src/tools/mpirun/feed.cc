// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/feed.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {

Feed::Feed(Loop& loop, int source)
    : loop_(loop), source_(source), terminal_(::isatty(source) == 1) {}

Feed::~Feed() {
  loop_.forget(source_);
  for (auto& reader : readers_) drop(*reader);
}

Fd Feed::add() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot make a pipe: %s", std::strerror(errno)));
  readers_.push_back(std::make_unique<Reader>());
  readers_.back()->writer = Fd(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return Fd(ends[0]);
}

void Feed::look() {
  const bool wanted = std::any_of(readers_.begin(), readers_.end(),
                                  [](const auto& reader) { return reader->writer.valid(); });
  if (ended_ || !wanted || held_.size() >= kMost) return loop_.forget(source_);
  loop_.watch(source_, EPOLLIN, [this] { on_input(); });
}

void Feed::on_input() {
  // In the background a read would stop mpirun; SIGCONT announces the foreground.
  if (terminal_ && ::tcgetpgrp(source_) != ::getpgrp()) return loop_.forget(source_);
  char buffer[65536];
  const ssize_t got = ::read(source_, buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) held_.append(buffer, static_cast<std::size_t>(got));
  ended_ = got <= 0;
  pump_all();
  look();
}

void Feed::pump_all() {
  for (auto& reader : readers_) pump(*reader);
  trim();
}

void Feed::pump(Reader& reader) {
  while (reader.writer.valid() && reader.taken < begin_ + held_.size()) {
    const auto from = static_cast<std::size_t>(reader.taken - begin_);
    const ssize_t put = ::write(reader.writer.get(), held_.data() + from, held_.size() - from);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) return drop(reader);
    if (put > 0) {
      reader.taken += static_cast<std::uint64_t>(put);
      continue;
    }
    if (reader.waiting) return;
    reader.waiting = true;
    loop_.watch(reader.writer.get(), EPOLLOUT, [this, &reader] {
      pump(reader);
      trim();
      look();
    });
    return;
  }
  if (!reader.writer.valid()) return;
  if (reader.waiting) loop_.forget(reader.writer.get());
  reader.waiting = false;
  if (ended_) drop(reader);
}

void Feed::drop(Reader& reader) {
  if (reader.writer.valid()) loop_.forget(reader.writer.get());
  reader.writer.reset();
}

void Feed::trim() {
  std::uint64_t slowest = begin_ + held_.size();
  for (const auto& reader : readers_)
    if (reader->writer.valid()) slowest = std::min(slowest, reader->taken);
  const auto done = static_cast<std::size_t>(slowest - begin_);
  if (done < held_.size() && done < held_.size() / 2) return;  // erasing costs the size of the rest
  held_.erase(0, done);
  begin_ = slowest;
}

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/streams.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {

Fd Streams::add(int rank, Sink& sink, LineSplitter lines) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot make a pipe for rank %d: %s; see ulimit -n",
                                    rank, std::strerror(errno)));
  // The rank's end stays blocking, because the two ends of a pipe are separate open files.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams_.push_back(
      std::make_unique<Stream>(Stream{rank, Fd(ends[0]), &sink, std::move(lines), false}));
  ++open_;
  watch(*streams_.back());
  return Fd(ends[1]);
}

Streams::~Streams() {
  for (const auto& stream : streams_)
    if (stream->fd.valid()) loop_.forget(stream->fd.get());
}

void Streams::watch(Stream& stream) {
  stream.watched = true;
  loop_.watch(stream.fd.get(), EPOLLIN, [this, &stream] { read_once(stream); });
}

bool Streams::read_once(Stream& stream) {
  char buffer[65536];
  const ssize_t got = ::read(stream.fd.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (got <= 0) {
    close(stream);
    return false;
  }
  std::string out;
  stream.lines.feed({buffer, static_cast<std::size_t>(got)}, &out);
  stream.sink->write(&stream, out);
  if (stream.sink->full()) pause_or_resume();
  return true;
}

void Streams::close(Stream& stream) {
  if (!stream.fd.valid()) return;
  loop_.forget(stream.fd.get());
  stream.fd.reset();
  std::string out;
  stream.lines.finish(&out);
  stream.sink->write(&stream, out);
  stream.sink->forget(&stream);
  if (--open_ == 0 && on_all_closed) on_all_closed();
}

void Streams::drain(int rank) {
  for (auto& stream : streams_)
    if (stream->rank == rank && stream->fd.valid())
      while (!stream->sink->full() && read_once(*stream)) {
      }
}

void Streams::pause_or_resume() {
  for (auto& stream : streams_) {
    if (!stream->fd.valid()) continue;
    const bool wanted = !stream->sink->full();
    if (wanted && !stream->watched) {
      watch(*stream);
    } else if (!wanted && stream->watched) {
      loop_.forget(stream->fd.get());
      stream->watched = false;
    }
  }
}

void Streams::close_all() {
  for (auto& stream : streams_) close(*stream);
}

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// Passes the ranks' outputs to mpirun's outputs line by line.
// Flow: mpirun does not read the ranks of a full sink, and the ranks block as on any full pipe.
// Lifetime: ends before loop and sinks. Threads: the loop's.
#pragma once

#include <memory>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/lines.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/sink.hpp"

namespace tern::mpirun {

class Streams {
 public:
  explicit Streams(Loop& loop) : loop_(loop) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams();

  // Makes a pipe whose lines go to `sink`; returns the writing end for the rank.
  [[nodiscard]] Fd add(int rank, Sink& sink, LineSplitter lines);

  // Prints the rank's last lines. Call before reporting the rank's end.
  void drain(int rank);
  void pause_or_resume();
  // Closes open streams, held by a process outside the job.
  void close_all();
  [[nodiscard]] bool all_closed() const noexcept { return open_ == 0; }

  Loop::Handler on_all_closed;

 private:
  struct Stream {
    int rank;
    Fd fd;
    Sink* sink;
    LineSplitter lines;
    bool watched = false;
  };
  bool read_once(Stream& stream);
  void close(Stream& stream);
  void watch(Stream& stream);

  Loop& loop_;
  std::vector<std::unique_ptr<Stream>> streams_;
  int open_ = 0;
};

}  // namespace tern::mpirun

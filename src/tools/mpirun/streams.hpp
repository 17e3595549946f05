// SPDX-License-Identifier: Apache-2.0
// The outputs of the ranks on their way to mpirun's own, line by line.
// Flow: while a sink is full its ranks are not read, so that they wait as before any full pipe.
// Lifetime: may not outlive loop and sinks. Threads: the loop's.
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

  // A pipe whose lines go to `sink`; returns the writing end, for the rank.
  [[nodiscard]] Fd add(int rank, Sink& sink, LineSplitter lines);

  // Takes what this rank has written so far, before its end is reported.
  void drain(int rank);
  void pause_or_resume();
  // Gives up what is still open: a process that left the job holds it.
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
  // False at the end of the stream or when there is nothing more now.
  bool read_once(Stream& stream);
  void close(Stream& stream);
  void watch(Stream& stream);

  Loop& loop_;
  std::vector<std::unique_ptr<Stream>> streams_;
  int open_ = 0;
};

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// Call: one enqueued operation: the stream's part and the proxy's part, pass by pass.
// Why: a graph replays the stream's part without the library being called; all that the proxy needs
// for it, any number of times, is here.
// How: in each pass the stream brings data into one of two halves of pinned memory (copy_in), tells
// the proxy, waits until that is done, and brings data out (copy_out). The proxy begins the host's
// operation on the half (begin), and ends the pass when that is complete (end).
// Lifetime: of its CommStream: until the last pass is done; one that is captured until the graph
// has gone. Threads: copy_in and copy_out by who enqueues, begin and end by the proxy.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "core/request.hpp"
#include "mpi.h"
#include "stream/track.hpp"

namespace tern::stream {

class Call {
 public:
  /// `name`: "MPIX_Allreduce_enqueue".
  explicit Call(const char* of) noexcept : name(of) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  const char* const name;
  /// How often the stream and the proxy take turns; 0: there is nothing to do.
  int passes = 1;
  /// A pass may begin before the one in front of it has ended.
  bool overlaps = false;

  /// Before anything is put into the stream, or recorded: may refuse, with fail() text.
  [[nodiscard]] virtual int admit(const Capture& /*capture*/) noexcept { return MPI_SUCCESS; }
  virtual void copy_in(Track& /*track*/, int /*pass*/, std::byte* /*half*/) noexcept {}
  virtual void copy_out(Track& /*track*/, int /*pass*/, const std::byte* /*half*/) noexcept {}
  /// Adds the requests that the pass waits for, each with a reference. An error class with fail()
  /// text.
  [[nodiscard]] virtual int begin(int pass, std::byte* half,
                                  std::vector<core::Request*>* requests) = 0;
  /// They are complete, without an error; `first` is the outcome of the first. The same.
  [[nodiscard]] virtual int end(int /*pass*/, std::byte* /*half*/, const core::Outcome& /*first*/) {
    return MPI_SUCCESS;
  }
  /// The pass has failed, whatever of it had begun is over; no other pass of this execution is
  /// begun.
  virtual void failed(int /*code*/) noexcept {}
};

/// The host's operation of one pass.
struct Pass {
  Call* call;
  int number;
  std::vector<core::Request*> requests;

  /// As Call::begin() and Call::end(), without exceptions.
  [[nodiscard]] Failure begin(std::byte* half) noexcept;
  [[nodiscard]] Failure end(std::byte* half, const core::Outcome& first) noexcept;
  /// All requests are complete.
  [[nodiscard]] bool done() const noexcept;
  /// Takes the outcomes of the complete requests. The first failure of them.
  [[nodiscard]] Failure collect(core::Outcome* first) noexcept;
  /// Names the first request that is not complete.
  void describe(WaitReport* report) const;
};

/// Without a stream: the call is over on return. `chunk`: bytes of a half.
[[nodiscard]] int run_now(core::Progress& progress, Call& call, size_t chunk) noexcept;

}  // namespace tern::stream

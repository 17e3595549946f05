// SPDX-License-Identifier: Apache-2.0
// Call: an enqueued operation: the stream's part and the proxy's part, pass by pass.
// Why: a graph replays the stream's part without the library, so the Call holds all data for the
// proxy. The stream's part is copy_in and copy_out, the proxy's part begin and end.
// Lifetime: the CommStream's, until the last pass; captured: until the graph ends. Threads: copy_in
// and copy_out by the enqueuing thread, begin and end by the proxy.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "core/request.hpp"
#include "mpi.h"
#include "stream/track.hpp"
#include "trace/recorder.hpp"

namespace tern::stream {

class Call {
 public:
  explicit Call(const char* of) noexcept : name(of) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  const char* const name;
  /// number of turns of stream and proxy; 0: nothing to do
  int passes = 1;
  /// If `overlaps`, a pass may begin before the previous pass has ended.
  bool overlaps = false;
  trace::Enqueued traced;

  /// admit() runs before anything is enqueued or recorded, and may refuse.
  [[nodiscard]] virtual int admit(const Capture& /*capture*/) noexcept { return MPI_SUCCESS; }
  virtual void copy_in(Track& /*track*/, int /*pass*/, std::byte* /*half*/) noexcept {}
  virtual void copy_out(Track& /*track*/, int /*pass*/, const std::byte* /*half*/) noexcept {}
  /// begin() adds the pass's requests, each with a reference.
  [[nodiscard]] virtual int begin(int pass, std::byte* half,
                                  std::vector<core::Request*>* requests) = 0;
  /// end() runs after success of all requests, with the first request's outcome.
  [[nodiscard]] virtual int end(int /*pass*/, std::byte* /*half*/, const core::Outcome& /*first*/) {
    return MPI_SUCCESS;
  }
  /// failed() runs when a pass has failed and nothing of the pass is pending. No later pass of this
  /// execution begins.
  virtual void failed(int /*code*/) noexcept {}
};

struct Pass {
  Call* call;
  int number;
  std::vector<core::Request*> requests;

  [[nodiscard]] Failure begin(std::byte* half) noexcept;
  [[nodiscard]] Failure end(std::byte* half, const core::Outcome& first) noexcept;
  [[nodiscard]] bool done() const noexcept;
  [[nodiscard]] Failure collect(core::Outcome* first) noexcept;
  void describe(WaitReport* report) const;
};

[[nodiscard]] int run_now(core::Progress& progress, Call& call, size_t chunk) noexcept;

}  // namespace tern::stream

// SPDX-License-Identifier: Apache-2.0
// StreamRun: an operation put into a stream: every step of its lowered schedule becomes a copy, a
// kernel, or an operation on words.
// Why: copy engines and the memory system do the work; no multiprocessor spins, and no host stands
// between the steps. A graph can capture and replay the run: each wait resets its semaphore, and
// nothing is allocated, loaded, exchanged or waited for.
// Order: a pass goes into one queue, as it was proved; passes take turns in two (lanes.hpp).
// Lifetime: of one call. Threads: the caller holds the team's mutex, and no channel's lock: a full
// launch queue makes driver calls wait for the device, and that for other ranks.
// Cost: a driver call for each step, waits side by side count as one.
// See: coll/gpu/README.md; tests/gpu/mpi/stream_collectives.cc.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "core/datatype_device.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class StreamRun {
 public:
  /// `job` is of the stream.
  StreamRun(GpuTeam& team, const Placed& placed, const Operation& operation,
            cuda::Job& job) noexcept;
  /// After a failure a part may be under way, and the team is invalid.
  [[nodiscard]] Failure run();
  /// Bytes of a vector or block in a pass.
  [[nodiscard]] MPI_Count chunk() const noexcept { return pieces_.length() * pieces_.element(); }
  [[nodiscard]] MPI_Count passes() const noexcept { return pieces_.passes(); }
  [[nodiscard]] static int blocks() noexcept { return 0; }  // the driver's affair
  /// Passes through a row that is a pipeline, where there is data for so many.
  [[nodiscard]] static MPI_Count least_passes(const Placed& placed) noexcept;
  static constexpr size_t kMostWaits = 125;  // of a batch of memory operations
  /// Kernels for so many sources.
  [[nodiscard]] static int kernels_of(int sources) noexcept;

 private:
  void run_passes();
  void run_pass(MPI_Count pass);
  void put_aside(MPI_Count pass);
  void bring_back(MPI_Count pass);
  void issue(const Step& step, size_t index, MPI_Count pass);
  void move(const Slice& from, const Slice& to, MPI_Count pass);
  void reduce(const Step& step, MPI_Count pass);
  void signal(const Placed::Word& word);
  void wait(const Placed::Word& word, size_t step);
  void flush_waits();
  [[nodiscard]] bool is_users(const Slice& slice) const noexcept;
  [[nodiscard]] std::byte* local(size_t offset) const noexcept;
  /// Of a slice of scratch, or of dense data.
  [[nodiscard]] std::byte* address(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] size_t offset_of(const Placed::Word& word) const noexcept;

  GpuTeam& team_;
  const Placed& placed_;
  const Schedule& schedule_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& callers_;
  cuda::Job* job_;  // of the lane of a pass
  int set_ = 0;
  MPI_Count pass_ = 0;
  bool captured_ = false;
  std::vector<CUstreamBatchMemOpParams> batch_;
};

}  // namespace tern::coll

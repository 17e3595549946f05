// SPDX-License-Identifier: Apache-2.0
// StreamRun: an operation in a stream. Each step of the lowered schedule is a copy, a kernel, or a
// memory operation on a semaphore.
// Why: copy engines do the work, and no SM spins. Graphs can capture and replay the run, because
// each wait resets its semaphore, and nothing is allocated or exchanged.
// Order: the steps of a pass keep the verified order; passes alternate between two streams
// (lanes.hpp).
// Cost: a driver call per step; adjacent waits share a call.
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
  StreamRun(GpuTeam& team, const Placed& placed, const Operation& operation,
            cuda::Job& job) noexcept;
  /// After a failed run(), some steps may run, and the team is invalid.
  [[nodiscard]] Failure run();
  [[nodiscard]] MPI_Count chunk() const noexcept { return pieces_.length() * pieces_.element(); }
  [[nodiscard]] MPI_Count passes() const noexcept { return pieces_.passes(); }
  [[nodiscard]] static int blocks() noexcept { return 0; }
  [[nodiscard]] static MPI_Count least_passes(const Placed& placed) noexcept;
  static constexpr size_t kMostWaits = 125;  // per batch of memory operations
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
  [[nodiscard]] std::byte* address(const Slice& slice, MPI_Count pass) const noexcept;
  [[nodiscard]] size_t offset_of(const Placed::Word& word) const noexcept;

  GpuTeam& team_;
  const Placed& placed_;
  const Schedule& schedule_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& callers_;
  cuda::Job* job_;
  int set_ = 0;
  MPI_Count pass_ = 0;
  bool captured_ = false;
  std::vector<CUstreamBatchMemOpParams> batch_;
};

}  // namespace tern::coll

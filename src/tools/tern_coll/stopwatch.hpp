// SPDX-License-Identifier: Apache-2.0
// Stopwatch: how long a collective takes by one algorithm, on the ranks that mpirun started.
// Cost: some milliseconds for each answer. Threads: one. See: tern_coll tune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/select/model.hpp"
#include "tools/tern_coll/gpu.hpp"
#include "tools/tern_coll/mpi_library.hpp"

namespace tern::coll_tool {

/// A way to do a collective. `wire`: between GPUs; kAuto: as the library has it without being told.
struct Way {
  const coll::Algorithm* row;
  Wire wire = Wire::kAuto;
  bool operator==(const Way&) const = default;
};

class Stopwatch {
 public:
  static constexpr size_t kMostBytes = size_t{2} << 20;

  /// `gpu`: collectives are put into its stream; null: on the host. Until the watch ends.
  Stopwatch(const MpiLibrary& mpi, const Gpu* gpu);
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  /// Those of `ways` (of one collective, the library's own wire first of each row) whose wire is
  /// taken: what times() measures from now on. A team of GPUs for each, until the next call;
  /// of none in the end.
  [[nodiscard]] const std::vector<Way>& prepare(const std::vector<Way>& ways);
  /// Microseconds of the slowest rank, the best of several rounds, for each way; the rounds
  /// alternate between them. `bytes`: of the vector, or of one block. Infinity: its wire is not
  /// taken at this size, or is what the library takes of itself.
  [[nodiscard]] std::vector<double> times(size_t bytes);
  /// Of each rank the lowest rank that shares memory with it: its host.
  [[nodiscard]] std::vector<int64_t> hosts();
  /// The figures of the model, as far as rank 0 can tell with the first rank of its host and the
  /// first of another; the same on all ranks. What no such pair can tell stays as it is by default.
  [[nodiscard]] coll::Model figures();

 private:
  [[nodiscard]] MPI_Comm communicator_for(const Way& way);
  /// By which wire the last call went; empty: by none between GPUs.
  [[nodiscard]] std::string wire_of(MPI_Comm comm);
  [[nodiscard]] std::vector<double> times_on_gpu(size_t bytes);
  void end(MPI_Comm* comm);
  void call(coll::Collective collective, size_t bytes, MPI_Comm comm);
  [[nodiscard]] double slowest(double microseconds);
  [[nodiscard]] double time_of(coll::Collective collective, size_t bytes, MPI_Comm comm, int calls);
  [[nodiscard]] double one_way(int other, int bytes, int rounds);
  void measure_link(int other, coll::Link* link);

  const MpiLibrary& mpi_;
  const Gpu* const gpu_;
  int rank_ = 0, ranks_ = 1;
  std::vector<char> input_, output_;
  std::vector<Way> ways_;
  std::vector<MPI_Comm> comms_;  // of ways_
};

}  // namespace tern::coll_tool

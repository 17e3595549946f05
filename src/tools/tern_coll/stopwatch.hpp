// SPDX-License-Identifier: Apache-2.0
// Stopwatch: how long a collective takes by one algorithm, on the ranks that mpirun started.
// Cost: some milliseconds for each answer. Threads: one. See: tern_coll tune.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/select/model.hpp"
#include "tools/tern_coll/gpu.hpp"
#include "tools/tern_coll/mpi_library.hpp"

namespace tern::coll_tool {

class Stopwatch {
 public:
  static constexpr size_t kMostBytes = size_t{2} << 20;

  /// `gpu`: collectives are put into its stream; null: on the host. Until the watch ends.
  Stopwatch(const MpiLibrary& mpi, const Gpu* gpu);
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  /// Microseconds of the slowest rank, the best of several rounds, for each of `rows` (of one
  /// collective); the rounds alternate between them. `bytes`: of the vector, or of one block.
  [[nodiscard]] std::vector<double> times(const std::vector<const coll::Algorithm*>& rows,
                                          size_t bytes);
  /// Of each rank the lowest rank that shares memory with it: its host.
  [[nodiscard]] std::vector<int64_t> hosts();
  /// The figures of the model, as far as rank 0 can tell with the first rank of its host and the
  /// first of another; the same on all ranks. What no such pair can tell stays as it is by default.
  [[nodiscard]] coll::Model figures();

 private:
  [[nodiscard]] MPI_Comm communicator_for(const coll::Algorithm& row);
  void call(coll::Collective collective, size_t bytes, MPI_Comm comm);
  [[nodiscard]] double slowest(double microseconds);
  [[nodiscard]] double time_of(coll::Collective collective, size_t bytes, MPI_Comm comm, int calls);
  [[nodiscard]] double one_way(int other, int bytes, int rounds);
  void measure_link(int other, coll::Link* link);

  const MpiLibrary& mpi_;
  const Gpu* const gpu_;
  int rank_ = 0, ranks_ = 1;
  std::vector<char> input_, output_;
};

}  // namespace tern::coll_tool

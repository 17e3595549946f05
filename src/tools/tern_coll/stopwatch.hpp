// SPDX-License-Identifier: Apache-2.0
// Stopwatch: times a collective by a given algorithm on all ranks.
// Cost: some milliseconds per measurement. Threads: one.
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

struct Way {
  const coll::Algorithm* row;
  Wire wire = Wire::kAuto;
  bool operator==(const Way&) const = default;
};

class Stopwatch {
 public:
  /// `gpu`: enqueue collectives on the GPU's stream; null: on the host. Outlives the watch. `room`:
  /// bytes of input and of output.
  Stopwatch(const MpiLibrary& mpi, const Gpu* gpu, size_t room);
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  /// Keeps the `ways` whose wire the library takes, for times(). `ways` are of a single collective,
  /// the library's own wire first for each row. On GPUs no team stays.
  [[nodiscard]] const std::vector<Way>& prepare(const std::vector<Way>& ways);
  /// Returns microseconds of the slowest rank, the best of several alternating rounds, for each
  /// way. `bytes`: of the vector, or of one block. Infinity: the wire is not taken at this size, or
  /// is the library's own choice.
  [[nodiscard]] std::vector<double> times(size_t bytes);
  /// Returns the host of each rank, as the lowest rank with shared memory.
  [[nodiscard]] std::vector<int64_t> hosts();
  /// Returns the model's figures, the same on all ranks, measured by rank 0 with a rank of the same
  /// host and a rank of another host. Other figures keep their defaults.
  [[nodiscard]] coll::Model figures();

 private:
  [[nodiscard]] MPI_Comm communicator_for(const Way& way);
  [[nodiscard]] std::string wire_of(MPI_Comm comm);
  [[nodiscard]] std::vector<double> times_on_gpu(size_t bytes);
  void end(MPI_Comm* comm);
  void call(coll::Collective collective, size_t bytes, MPI_Comm comm);
  [[nodiscard]] double slowest(double microseconds);
  [[nodiscard]] double time_of(coll::Collective collective, size_t bytes, MPI_Comm comm, int calls);
  [[nodiscard]] double one_way(int other, int bytes, int rounds);
  void measure_link(int other, coll::LinkCost* link);

  const MpiLibrary& mpi_;
  const Gpu* const gpu_;
  int rank_ = 0, ranks_ = 1;
  std::vector<char> input_, output_;
  std::vector<Way> ways_;
  std::vector<MPI_Comm> comms_;
};

}  // namespace tern::coll_tool

// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives: a message to each neighbour and one from each.
// Why: the blocking, nonblocking and persistent forms of an operation start one description.
// Threads: as the MPI calls that use it.
#pragma once

#include <vector>

#include "api/compound.hpp"
#include "core/communicator.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::api {

/// The messages of one neighbourhood collective; MPI_PROC_NULL has none.
class Neighborhood {
 public:
  /// code() tells of a communicator without topology.
  explicit Neighborhood(core::Communicator& comm) noexcept;

  /// The next neighbour's part; in the order of the destinations, or of the sources.
  void send(const void* address, MPI_Count count, core::Datatype& type);
  void receive(void* address, MPI_Count count, core::Datatype& type);
  void refuse(int code) noexcept { code_ = code; }

  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return comm_; }
  [[nodiscard]] size_t sources() const noexcept;
  [[nodiscard]] size_t destinations() const noexcept;

  /// Begins all messages; `parts` take the requests.
  [[nodiscard]] int post(std::vector<core::Request*>* parts) const;
  /// Types and communicator stay, whatever the user frees; `by` is 1 or -1. Lock held.
  void hold(int by) const noexcept;

 private:
  struct Message {
    pml::Buffer buffer;
    pml::Envelope envelope;
  };
  [[nodiscard]] pml::Envelope next(const std::vector<int>& neighbors, size_t* number, int turned);

  core::Communicator& comm_;
  int code_ = MPI_SUCCESS;
  int tag_ = 0;
  size_t sent_ = 0, received_ = 0;  // neighbours, MPI_PROC_NULL included
  std::vector<Message> sends_, receives_;
};

/// Starts and waits.
[[nodiscard]] int run(const Neighborhood& what);
/// MPI_Ineighbor_...
[[nodiscard]] int begin(Neighborhood what, MPI_Request* request);
/// MPI_Neighbor_..._init
[[nodiscard]] int plan(Neighborhood what, MPI_Request* request);

}  // namespace tern::api

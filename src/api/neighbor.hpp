// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives: a message to each neighbour and one from each.
// Threads: as the MPI calls that use it.
#pragma once

#include <vector>

#include "api/exchange.hpp"

namespace tern::api {

/// The messages of one neighbourhood collective.
class Neighborhood : public Exchange {
 public:
  /// code() tells of a communicator without topology.
  explicit Neighborhood(core::Communicator& comm) noexcept;

  /// The next neighbour's part; in the order of the destinations, or of the sources.
  void send(const pml::Buffer& buffer);
  void receive(const pml::Buffer& buffer);

  [[nodiscard]] size_t sources() const noexcept;
  [[nodiscard]] size_t destinations() const noexcept;

 private:
  [[nodiscard]] int tag_of(size_t number) const noexcept;

  int tag_ = 0;
  size_t sent_ = 0, received_ = 0;  // neighbours, MPI_PROC_NULL included
};

}  // namespace tern::api

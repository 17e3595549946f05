// SPDX-License-Identifier: Apache-2.0
// Who sends what to which neighbour.
// Each neighbourhood collective takes a number when it is called (or made persistent), the same on
// all ranks; it is part of the tag, so that persistent ones may be started in any order.
#include "api/comm_exchange.hpp"
#include "api/neighbor.hpp"
#include "base/error.hpp"
#include "core/topology.hpp"

namespace tern::api {

Neighborhood::Neighborhood(core::Communicator& comm) noexcept : Exchange(comm) {
  if (comm.topology == nullptr) {
    refuse(fail(MPI_ERR_TOPOLOGY, "%s has no topology, so it has no neighbourhoods",
                comm.name.empty() ? "comm" : comm.name.c_str()));
    return;
  }
  tag_ = exchange_tag(comm);
}

size_t Neighborhood::sources() const noexcept {
  return code() == MPI_SUCCESS ? communicator().topology->sources().size() : 0;
}

size_t Neighborhood::destinations() const noexcept {
  return code() == MPI_SUCCESS ? communicator().topology->destinations().size() : 0;
}

// In a grid what goes in the negative direction comes from the positive one; where both neighbours
// are the same process (a period of 1 or 2) the tag tells them apart.
int Neighborhood::tag_of(size_t number) const noexcept {
  const bool grid = communicator().topology->cartesian() != nullptr;
  return tag_ + (grid ? static_cast<int>(number & 1) : 0);
}

void Neighborhood::send(const pml::Buffer& buffer) {
  const int to = communicator().topology->destinations()[sent_];
  Exchange::send(buffer, to, tag_of(sent_++));
}

void Neighborhood::receive(const pml::Buffer& buffer) {
  const int from = communicator().topology->sources()[received_];
  Exchange::receive(buffer, from, tag_of(received_++ + 1));
}

}  // namespace tern::api

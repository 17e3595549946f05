// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/communicator.hpp"

namespace tern::core {

/// The failure of the first dead member; see Membership::has_failed_member().
[[nodiscard]] inline Failure death_in(const Communicator& communicator) noexcept {
  const Deaths& deaths = communicator.process().deaths;
  int rank = MPI_UNDEFINED;
  const char* where = "";
  for (uint32_t i = 0; i < deaths.count() && rank == MPI_UNDEFINED; ++i) {
    rank = communicator.group().rank_of(deaths.at(i));
    if (rank != MPI_UNDEFINED || !communicator.inter()) continue;
    rank = communicator.remote_group()->rank_of(deaths.at(i));
    where = " of the other group";
  }
  return failure(deaths.lost_class(), "rank %d%s of %s has failed", rank, where,
                 communicator.name.or_words("the communicator").c_str());
}

}  // namespace tern::core

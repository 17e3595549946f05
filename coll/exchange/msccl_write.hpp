// SPDX-License-Identifier: Apache-2.0
// Writes schedules as an MSCCL algorithm: a thread block for each peer and direction of a lane, and
// one for the lane's copies and reductions.
#pragma once

#include <string>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// `schedules` are those of all ranks; `name` is the plan's name in the file. Errors (tern::Error,
/// MPI_ERR_ARG): a collective unknown to the format, a schedule of puts, a deadlock.
[[nodiscard]] std::string write_msccl(const std::vector<Schedule>& schedules,
                                      const std::string& name);

}  // namespace tern::coll

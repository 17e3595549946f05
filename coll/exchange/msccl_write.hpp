// SPDX-License-Identifier: Apache-2.0
// Writes schedules as an MSCCL algorithm file: a thread block for each way of a lane, and one for
// the lane's copies and reductions. Any proved schedule of messages can be written.
#pragma once

#include <string>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// `schedules` are those of all ranks; `name` is the plan's name in the file. Errors (tern::Error,
/// MPI_ERR_ARG): a collective that the format lacks, a schedule of puts, no end (a deadlock).
[[nodiscard]] std::string write_msccl(const std::vector<Schedule>& schedules,
                                      const std::string& name);

}  // namespace tern::coll

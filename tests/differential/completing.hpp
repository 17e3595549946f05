// SPDX-License-Identifier: Apache-2.0
// Completes a list of requests in one of all the ways that MPI has.
#pragma once

#include <mpi.h>

#include <vector>

#include "step.hpp"

// Waits for all, in a way that `step.mine` chooses. Inactive requests get an empty status. `ok[i]`
// is false where the request failed, and the class of its error is recorded in the order of the
// list.
void complete(Step& step, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses);

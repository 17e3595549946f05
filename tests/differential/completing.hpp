// SPDX-License-Identifier: Apache-2.0
// Completes a list of requests by any of the functions of MPI.
#pragma once

#include <mpi.h>

#include <vector>

#include "step.hpp"

// Waits for all requests by functions chosen by `step.mine`. Records the classes of errors in the
// order of the list.
void complete(Step& step, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses);

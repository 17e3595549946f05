// SPDX-License-Identifier: Apache-2.0
// Completes requests by any function of MPI.
#pragma once

#include <mpi.h>

#include <vector>

#include "step.hpp"

// complete() waits by functions chosen by `step.mine`, and records the classes of errors in list
// order.
void complete(Step& step, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses);

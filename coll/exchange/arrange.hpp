// SPDX-License-Identifier: Apache-2.0
// Arranges the steps of a plan: the order of each rank's steps changes, the data that they read
// and write does not.
// Why: MSCCL's sends are buffered. Tern's are not, and a lane's steps start in order, so a wrong
// order of independent steps ends in a deadlock.
#pragma once

#include "coll/exchange/file_plan.hpp"

namespace tern::coll {

/// Before: each rank's order is right if sends complete at once. Afterwards: there is an order of
/// all ranks' messages and local steps in which each ends before the next begins, and each rank's
/// steps follow it. Where a cycle prevents that, a send gets a copy of its source in the stage.
void arrange(FilePlan& plan);

}  // namespace tern::coll

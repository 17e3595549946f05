// SPDX-License-Identifier: Apache-2.0
// Arranges the steps of a plan: a rank's steps change order, never data.
// Why: MSCCL's sends are buffered. Tern's are not, and a lane's steps start in order, so a wrong
// order of independent steps ends in a deadlock.
#pragma once

#include "coll/schedule/file_plan.hpp"

namespace tern::coll {

/// Before: a rank's order is right if sends complete at once. Afterwards: all messages and local
/// steps can run one by one, in the same order on each rank. In a cycle, a send's source is copied
/// to the stage first.
void arrange(FilePlan& plan);

}  // namespace tern::coll

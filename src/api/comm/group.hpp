// SPDX-License-Identifier: Apache-2.0
// publish: gives a group a handle.
#pragma once

#include "core/group.hpp"
#include "mpi.h"

namespace tern::api {

/// Takes over the reference; every empty group is MPI_GROUP_EMPTY. Throws Error.
void publish(core::Ref<core::Group> group, MPI_Group* handle);

}  // namespace tern::api

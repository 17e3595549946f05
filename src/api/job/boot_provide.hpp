// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Boot_provide. Threads: any, under the Membership's lock.
#pragma once

#include "mpix.h"

namespace tern::api {

/// `name` is the MPI function's. Prints errors itself, because no handler exists before MPI_Init.
[[nodiscard]] int boot_provide(const char* name, const MPIX_Boot* boot) noexcept;

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Boot_provide.
// Threads: any; the Membership's lock.
#pragma once

#include "mpix.h"

namespace tern::api {

/// `name` is the MPI function's. Prints errors itself, because before MPI_Init there is no handler.
[[nodiscard]] int boot_provide(const char* name, const MPIX_Boot* boot) noexcept;

}  // namespace tern::api

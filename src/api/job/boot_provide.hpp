// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Boot_provide.
// Threads: any; the Membership's lock.
#pragma once

#include "mpix.h"

namespace tern::api {

/// `name` is the function's. Returns errors itself: before MPI_Init no handler could be set.
[[nodiscard]] int boot_provide(const char* name, const MPIX_Boot* boot) noexcept;

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Boot_provide. Any thread may call boot_provide(), which takes the Membership's
// lock.
#pragma once

#include "mpix.h"

namespace tern::api {

/// `name` is the MPI function's. boot_provide() returns an error class, and keeps the text for
/// MPI_Error_string.
[[nodiscard]] int boot_provide(const char* name, const MPIX_Boot* boot) noexcept;

}  // namespace tern::api

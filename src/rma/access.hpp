// SPDX-License-Identifier: Apache-2.0
// Whether an operation may begin, and where it goes. Threads: any.
#pragma once

#include "rma/window.hpp"

namespace tern::rma {

/// 0, or an error class with fail() text; throws std::bad_alloc. In an epoch of MPI_Win_start it
/// waits for the target's MPI_Win_post.
[[nodiscard]] int begin_access(Window& window, const Place& at, bool with_request,
                               Reached* reached);

}  // namespace tern::rma

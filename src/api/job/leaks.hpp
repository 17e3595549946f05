// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=leaks: reports objects not freed when MPI ends. See: tests/mpi/check_leaks.sh.
#pragma once

#include "core/process.hpp"

namespace tern::api {

/// Prints the number of remaining objects by kind and creating call. Call before the last fence.
void report_leaks(const core::Process& process) noexcept;

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=leaks: what the program made and did not free until MPI ended.
// See: tests/mpi/check_leaks.sh.
#pragma once

#include "core/process.hpp"

namespace tern::api {

/// Says how many objects of each kind are left and which calls made them. Before the last fence.
void report_leaks(const core::Process& process) noexcept;

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Shared by the functions that create windows.
#pragma once

#include "core/info.hpp"
#include "rma/create.hpp"

namespace tern::api {

/// Copies the known hints of `info` (may be null) and ignores others. Returns MPI_ERR_INFO_VALUE
/// for an invalid value of a known hint.
[[nodiscard]] int set_hints(rma::Window& window, const core::Info* info);
/// Checks the hints without copying, and sets their effect on allocation in `wanted`.
[[nodiscard]] Failure check_window_hints(const core::Info* info, rma::Wanted* wanted);

}  // namespace tern::api

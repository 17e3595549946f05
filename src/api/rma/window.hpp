// SPDX-License-Identifier: Apache-2.0
// Functions to create windows.
#pragma once

#include "core/info.hpp"
#include "rma/create.hpp"

namespace tern::api {

/// Copies known hints and ignores others. Returns MPI_ERR_INFO_VALUE for an invalid value. `info`
/// may be null.
[[nodiscard]] int set_hints(rma::Window& window, const core::Info* info);
[[nodiscard]] Failure check_window_hints(const core::Info* info, rma::Wanted* wanted);

}  // namespace tern::api

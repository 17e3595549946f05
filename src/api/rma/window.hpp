// SPDX-License-Identifier: Apache-2.0
// What the functions that make windows have in common.
#pragma once

#include "core/info.hpp"
#include "rma/create.hpp"

namespace tern::api {

/// Takes over those hints of `info` (may be null) that this library knows; the others are ignored.
/// MPI_ERR_INFO_VALUE for a value that a known hint cannot have.
[[nodiscard]] int set_hints(rma::Window& window, const core::Info* info);
/// The same of the values alone; and what they mean for memory that is to be allocated.
[[nodiscard]] Failure check_window_hints(const core::Info* info, rma::Wanted* wanted);

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=leaks: reports objects not freed.
#pragma once

#include "core/process.hpp"

namespace tern::api {

/// Reports leaks by kind and creating call. Call before the last fence.
void report_leaks(const core::Process& process) noexcept;

}  // namespace tern::api

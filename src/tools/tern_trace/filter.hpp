// SPDX-License-Identifier: Apache-2.0
// Reduces a trace to some ranks, seconds, or a region.
#pragma once

#include "tools/tern_trace/model.hpp"
#include "tools/tern_trace/options.hpp"

namespace tern::trace_tool {

/// Throws tern::Error if nothing is left.
void filter(Trace* trace, const Options& options);

}  // namespace tern::trace_tool

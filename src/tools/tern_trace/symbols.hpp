// SPDX-License-Identifier: Apache-2.0
// Call sites as FILE:LINE(function), by addr2line of binutils.
// Why: the program has other things to do than to read its own debug data.
#pragma once

#include "tools/tern_trace/model.hpp"

namespace tern::trace_tool {

/// Replaces frames MODULE+0xOFFSET where the module, its names and addr2line are here; other frames
/// stay.
void resolve_sites(Trace* trace);

/// The lines of `addr2line -f` for one module, as frames; empty for unknown places.
[[nodiscard]] std::vector<std::string> frames_of(const std::string& output, size_t count);

}  // namespace tern::trace_tool

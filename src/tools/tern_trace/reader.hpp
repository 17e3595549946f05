// SPDX-License-Identifier: Apache-2.0
// Opens trace files: maps them, checks every record once, and merges processes of several files.
// Why: files of killed jobs are torn, and files of strangers may be hostile.
// See: tests/unit/tools/trace_read_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/tern_trace/model.hpp"

namespace tern::trace_tool {

/// A missing FILE stands for FILE.0, FILE.1, ... Throws tern::Error if a file is no trace. Torn and
/// damaged parts become remarks.
[[nodiscard]] std::unique_ptr<Trace> open_trace(const std::vector<std::string>& names);

/// Reads one line of definitions; false if the line is damaged. Unknown words are skipped.
bool read_definition(Trace* trace, Process* process, std::string_view line);
/// Fills the lists of members after all files: their processes may come late.
void resolve_members(Trace* trace);
/// Fills Trace::by_row.
void settle_rows(Trace* trace);
/// Fills Process::clock.
void settle_clock(Process* process);
/// Fills begin and end of lanes and of the run.
void settle_times(Trace* trace);

}  // namespace tern::trace_tool

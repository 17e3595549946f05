// SPDX-License-Identifier: Apache-2.0
// Forms of a report. Writers of files throw tern::Error if the disk fails.
#pragma once

#include <string>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {

[[nodiscard]] std::string text_report(const Analysis& analysis);
[[nodiscard]] std::string json_report(const Analysis& analysis);
[[nodiscard]] std::string diff_report(const Analysis& before, const Analysis& after);
[[nodiscard]] std::string workload(Analysis* analysis);
/// At most 16 MiB.
[[nodiscard]] std::string page(Analysis* analysis);
void write_chrome(Analysis* analysis, const std::string& name);
void write_otf2(Analysis* analysis, const std::string& folder);
void write_file(const std::string& name, const std::string& text);  // "-": standard output

/// "0.123 s".
[[nodiscard]] std::string seconds_text(double ns);
/// "12,345".
[[nodiscard]] std::string count_text(uint64_t count);
[[nodiscard]] std::string size_text(double bytes);
/// "late sender: rank 0 sent late", for pages and diffs.
[[nodiscard]] std::string finding_title(const Analysis& analysis, const Finding& finding);
/// Places by time, longest first.
[[nodiscard]] std::vector<uint32_t> places_by_time(const Analysis& analysis);
/// The lower bound of a bin of Sizes: 0, 1, 2, 4, ...
[[nodiscard]] inline uint64_t least_size(size_t bin) {
  return bin == 0 ? 0 : uint64_t{1} << (bin - 1);
}
[[nodiscard]] std::vector<std::string> hosts_of(const Trace& trace);
/// Sentences on parts of the run that the report misses.
[[nodiscard]] std::vector<std::string> omissions(const Analysis& analysis);

}  // namespace tern::trace_tool

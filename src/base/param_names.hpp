// SPDX-License-Identifier: Apache-2.0
// Names of parameters: groups and their parts, old names, suggestions for unknown names.
// Threads: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tern {

/// params.cc defines param_names().
struct ParamNames {
  std::vector<std::string> all, listed;  // TERN_ALL_PARAMS; TERN_PARAMS
};
[[nodiscard]] const ParamNames& param_names();

/// The candidate with the least edit distance to `name`; empty if all distances exceed 1/3 of the
/// length of `name`.
[[nodiscard]] std::string nearest_name(const std::string& name,
                                       const std::vector<std::string>& candidates);
/// Whether the values of a variable add up part by part: TERN_COLL, TERN_TEST.
[[nodiscard]] bool adds_up(const std::string& name) noexcept;

[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

/// The part of "TERN_COLL.bcast"; empty for a parameter outside of groups.
[[nodiscard]] std::string part_of(const std::string& name);
/// "TERN_SPIN"; "bcast in TERN_COLL".
[[nodiscard]] std::string shown_name(const std::string& name);
[[nodiscard]] bool is_row(const std::string& name);
/// The user's form: TERN_COLL="bcast=chain".
[[nodiscard]] std::string setting(const std::string& name, const std::string& value);
/// As a line of tern.conf: TERN_COLL = bcast=chain.
[[nodiscard]] std::string line_of_file(const std::string& name, const std::string& value);
/// Translates the name of an earlier release; returns other names unchanged.
[[nodiscard]] std::string present_name(const std::string& name);
/// A sentence for an unknown name, with the nearest name or all names.
[[nodiscard]] std::string unknown_name(const std::string& name);
/// "PART=VALUE,PART=VALUE" as pairs of full name and value. A comma ends a value only before
/// "NAME=": values may contain commas. Throws Error(MPI_ERR_ARG).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parts_of(const std::string& group,
                                                                        const std::string& text);

}  // namespace tern

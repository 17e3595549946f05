// SPDX-License-Identifier: Apache-2.0
// Messages about programs without a start, or beyond a limit: cause behind the system's error, and
// cure.
#pragma once

#include <string>

namespace tern::mpirun {

/// Of execve() with this errno: " (...)", or nothing to add. Reads the first page of the file.
[[nodiscard]] std::string cause_of_refusal(const std::string& program, int error);

/// Of a signal of a resource limit: ", see ulimit ..."; of other signals nothing.
[[nodiscard]] const char* limit_of(int signal) noexcept;

/// Of exit code 127 of shells and of the loader of shared libraries.
[[nodiscard]] std::string cause_of_127(const std::string& program);

}  // namespace tern::mpirun

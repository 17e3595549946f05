// SPDX-License-Identifier: Apache-2.0
// Words for a user whose program did not start, or met a limit: the cause behind the system's
// error, and the cure.
#pragma once

#include <string>

namespace tern::mpirun {

/// Of execve() with this errno: " (...)", or nothing to add. Reads the first page of the file.
[[nodiscard]] std::string cause_of_refusal(const std::string& program, int error);

/// Of a signal that a resource limit sends: ", see ulimit ..."; else nothing.
[[nodiscard]] const char* limit_of(int signal) noexcept;

/// Of exit code 127, which shells and the loader of shared libraries use.
[[nodiscard]] std::string cause_of_127(const std::string& program);

}  // namespace tern::mpirun

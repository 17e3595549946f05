// SPDX-License-Identifier: Apache-2.0
// Messages about programs that fail to start or exceed a limit: the cause behind the system's
// error, and the cure.
#pragma once

#include <string>

namespace tern::mpirun {

/// Returns the cause of execve()'s errno as " (...)", or empty. Reads the first page of the file.
[[nodiscard]] std::string cause_of_refusal(const std::string& program, int error);

[[nodiscard]] const char* limit_of(int signal) noexcept;

/// Returns the cause of exit code 127 from a shell or the loader of shared libraries.
[[nodiscard]] std::string cause_of_127(const std::string& program);

}  // namespace tern::mpirun

// SPDX-License-Identifier: Apache-2.0
// Other Python packages (wheels) that own files of this installation.
// Why: pip installs a second MPI's wheel over the first without a word, and removes the common
// files with either. Cost: one system call outside a wheel; inside, two or three for each package
// of the environment.
#pragma once

#include <string>

namespace tern {

/// Returns one sentence with packages, files and cure; empty if the files below `prefix` belong to
/// Tern's wheel alone, or to no wheel.
[[nodiscard]] std::string wheel_conflict(const std::string& prefix);

}  // namespace tern

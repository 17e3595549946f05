// SPDX-License-Identifier: Apache-2.0
// Where Tern is installed, and the files tern.conf that set parameters for a site, a user, an
// installation.
// Order (the later wins): PREFIX/etc/tern.conf, $XDG_CONFIG_DIRS/tern/tern.conf (the first folder
// wins over the next; /etc/xdg where unset), $XDG_CONFIG_HOME/tern/tern.conf (~/.config where
// unset), the environment.
// Threads: any. See: tests/unit/base/config_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern {

/// The folder that holds bin and lib, found from where this code was loaded (a moved tree keeps
/// working); the configured one where it runs from a build tree.
[[nodiscard]] std::string install_prefix();

/// The places of tern.conf, in the order in which they are read; files need not exist.
[[nodiscard]] std::vector<std::string> config_files();

/// All parameters in effect: files, then `environment`. What is wrong becomes sentences in
/// `complaints`.
[[nodiscard]] Params load_params(const char* const* environment,
                                 std::vector<std::string>* complaints);

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// The installation folder, and the files tern.conf.
// Order (later wins): PREFIX/etc/tern.conf, $XDG_CONFIG_DIRS/tern/tern.conf (an earlier folder
// wins; default /etc/xdg), $XDG_CONFIG_HOME/tern/tern.conf (default ~/.config), the environment.
// Threads: any.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern {

/// Returns the parent of bin and lib, found from the loaded file; from a build tree, the configured
/// prefix.
[[nodiscard]] std::string install_prefix();

[[nodiscard]] std::vector<std::string> config_files();

/// Errors become sentences in `complaints`.
[[nodiscard]] Params load_params(const char* const* environment,
                                 std::vector<std::string>* complaints);

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// Tern's installation folder, and the files tern.conf with parameters for a site, a user or an
// installation.
// Order (later wins): PREFIX/etc/tern.conf, $XDG_CONFIG_DIRS/tern/tern.conf (an earlier folder
// wins; default /etc/xdg), $XDG_CONFIG_HOME/tern/tern.conf (default ~/.config), the environment.
// Threads: any. See: tests/unit/base/config_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern {

/// The parent of bin and lib, found from the loaded file (so a moved tree works); the configured
/// prefix when run from a build tree.
[[nodiscard]] std::string install_prefix();

/// The paths of tern.conf in reading order; files may be missing.
[[nodiscard]] std::vector<std::string> config_files();

/// All parameters in effect: files, then `environment`. Errors become sentences in `complaints`.
[[nodiscard]] Params load_params(const char* const* environment,
                                 std::vector<std::string>* complaints);

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// The commands of tern_coll; each returns an exit status and throws tern::Error.
#pragma once

#include "tools/tern_coll/options.hpp"

namespace tern::coll_tool {

[[nodiscard]] int list(const Options& options);
[[nodiscard]] int verify(const Options& options);
[[nodiscard]] int draw(const Options& options);
[[nodiscard]] int simulate(const Options& options);
[[nodiscard]] int search(const Options& options);
[[nodiscard]] int bound(const Options& options);
[[nodiscard]] int forest(const Options& options);
[[nodiscard]] int import(const Options& options);
[[nodiscard]] int export_plan(const Options& options);
[[nodiscard]] int topology(const Options& options);
[[nodiscard]] int validate(const Options& options);
[[nodiscard]] int tune(const Options& options);

[[nodiscard]] int show(const Options& options);
[[nodiscard]] int forget(const Options& options);

}  // namespace tern::coll_tool

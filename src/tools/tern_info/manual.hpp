// SPDX-License-Identifier: Apache-2.0
// The table of parameters as the list of a manual page.
#pragma once

#include <string>

namespace tern::info {

[[nodiscard]] std::string parameters_as_mdoc();

}  // namespace tern::info

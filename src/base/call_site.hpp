// SPDX-License-Identifier: Apache-2.0
// A place in the program, for people.
#pragma once

#include <string>

namespace tern {

/// "./program(main+0x1f)", or what addr2line takes: "./program(+0x11f9)"; "?" where it is in no
/// file. Throws std::bad_alloc.
[[nodiscard]] std::string call_site_in_words(const void* site);

}  // namespace tern

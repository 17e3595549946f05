// SPDX-License-Identifier: Apache-2.0
// say_once: messages about files on stderr.
#pragma once

#include <string>

namespace tern::io {

/// Prints each sentence once per process. Threads: any. Throws std::bad_alloc.
void say_once(const std::string& sentence);

}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// Claim: the right to write a file of records, until the descriptor is closed.
// Why: a program started by a recording program inherits the name of the file, and would replace
// the records.
#pragma once

#include <string>

#include "base/fd.hpp"

namespace tern::trace {

struct Claim {
  Fd fd;
  std::string path;    // `path.PID` if another process writes `path`
  std::string remark;  // in this case; else empty
};

/// The content stays. `what`: "trace" or "profile", for messages. Throws Error.
[[nodiscard]] Claim claim(const std::string& path, const char* what);

/// Replaces the content. Returns an error sentence, or an empty text.
[[nodiscard]] std::string write_profile(const Claim& claim, const std::string& text);

}  // namespace tern::trace

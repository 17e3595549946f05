// SPDX-License-Identifier: Apache-2.0
// Access: the arguments of a data access function (MPI-5.0 table 14.1).
#pragma once

#include <cstdint>

#include "core/data.hpp"

namespace tern::io {

struct Access {
  enum class Where : uint8_t { kExplicit, kIndividual, kShared };
  bool writes = false;
  Where where = Where::kExplicit;
  bool collective = false;
  int64_t offset = 0;  // etypes, for kExplicit
  core::Data data;
};

/// Packed bytes [first, first + bytes) of a view.
struct Span {
  int64_t first = 0;
  size_t bytes = 0;
};

}  // namespace tern::io

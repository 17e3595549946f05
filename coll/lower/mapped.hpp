// SPDX-License-Identifier: Apache-2.0
// Mapped: the edges between ranks over which a rank writes into the other's memory.
#pragma once

#include <cstdint>
#include <functional>

namespace tern::coll {

/// Which messages become puts. Alike on all ranks.
using Mapped = std::function<bool(int32_t from, int32_t to)>;

}  // namespace tern::coll

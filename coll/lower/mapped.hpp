// SPDX-License-Identifier: Apache-2.0
// Mapped: edges between ranks with mapped memory.
#pragma once

#include <cstdint>
#include <functional>

namespace tern::coll {

/// True: messages of this edge become puts. Equal on all ranks.
using Mapped = std::function<bool(int32_t from, int32_t to)>;

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Mapped: edges between ranks with mapped memory.
#pragma once

#include <cstdint>
#include <functional>

namespace tern::coll {

using Mapped = std::function<bool(int32_t from, int32_t to)>;

}  // namespace tern::coll

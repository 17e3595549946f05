// SPDX-License-Identifier: Apache-2.0
// Where: placement of all ranks' data, exchanged in an epoch of the slots.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Where : uint8_t {
  kUnknown,  // not exchanged yet
  kHost,
  kSome,  // devices cannot serve
  kAll,   // devices serve the call
};

}  // namespace tern::coll

// SPDX-License-Identifier: Apache-2.0
// Where: placement of all ranks' data in a collective. Each rank knows only its own; an epoch of
// the slots exchanges it.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Where : uint8_t {
  kUnknown,  // not exchanged
  kHost,     // all data on the host
  kSome,     // some data on a device; no joint execution on devices
  kAll,      // all data on devices; devices serve the call
};

}  // namespace tern::coll

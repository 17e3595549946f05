// SPDX-License-Identifier: Apache-2.0
// Where: placement of all ranks' data. An epoch of the slots exchanges each rank's placement.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Where : uint8_t {
  kUnknown,  // not exchanged yet
  kHost,
  kSome,  // some data on a device, but devices cannot serve
  kAll,   // all data on devices; devices serve the call
};

}  // namespace tern::coll

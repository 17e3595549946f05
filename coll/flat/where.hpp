// SPDX-License-Identifier: Apache-2.0
// Where: the memory of all ranks' data in one collective. Only a rank itself knows its own; the
// ranks tell each other in an epoch of the slots, and all come to the same answer.
#pragma once

#include <cstdint>

namespace tern::coll {

enum class Where : uint8_t {
  kUnknown,  // the ranks have not told each other
  kHost,     // no rank's data lies on a device
  kSome,     // a rank's does, and the devices cannot do the call together
  kAll,      // every rank's does, and the devices do the call together
};

}  // namespace tern::coll

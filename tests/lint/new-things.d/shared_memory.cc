// SPDX-License-Identifier: Apache-2.0
// A way through shared memory that does as another.
#include "coll/flat/parts.hpp"

namespace tern::coll {

void flat_dummy(Parts& parts, Collective /*collective*/);
void flat_dummy(Parts& parts, Collective /*collective*/) { parts.run(); }

}  // namespace tern::coll

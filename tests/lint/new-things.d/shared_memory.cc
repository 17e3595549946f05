// SPDX-License-Identifier: Apache-2.0
// A flat method with the steps of another method.
#include "coll/flat/parts.hpp"

namespace tern::coll {

int flat_dummy(const Operation& operation, Slots& slots);
int flat_dummy(const Operation& operation, Slots& slots) {
  Parts parts(operation, slots);
  parts.run();
  return parts.code();
}

}  // namespace tern::coll

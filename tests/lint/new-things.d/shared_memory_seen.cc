// SPDX-License-Identifier: Apache-2.0
// The table's row names the new method, and the parameter accepts the row. The program links
// flat_run without a call.
#include <cstdio>

#include "base/params.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/flat/flat.hpp"

int main() {
  using namespace tern::coll;
  const Algorithm* row = find_algorithm(Collective::kBarrier, "dummy");
  const bool right = row != nullptr && row->flat == FlatMethod::kDummy;
  std::printf("dummy %s\n%s\n", right ? "is a method" : "is not a method",
              tern::algorithm_words("barrier"));
  using Run = int (*)(const Operation&, FlatMethod, Slots&);
  const volatile Run run = flat_run;
  return run == nullptr ? 1 : 0;
}

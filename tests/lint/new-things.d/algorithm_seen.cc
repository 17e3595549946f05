// SPDX-License-Identifier: Apache-2.0
// The table has the new algorithm with a proof, and the parameter accepts the name.
#include <cstdio>

#include "base/params.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/verify.hpp"

int main() {
  using namespace tern::coll;
  const Algorithm* row = find_algorithm(Collective::kAllgather, "mine");
  if (row == nullptr) return 1;
  const Proof proof = verify(*row, 5, 0);
  std::printf("%s\n", proof.holds() ? "proved" : proof.fault.c_str());
  tern::Params params;
  params.set("TERN_COLL.allgather", "mine");
  std::printf("TERN_COLL.allgather=%s\n", params.get("TERN_COLL.allgather").c_str());
}

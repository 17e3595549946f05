// SPDX-License-Identifier: Apache-2.0
#include "coll/engine/kept_operation.hpp"

namespace tern::coll {

void make_adjacent(const std::vector<MPI_Count>& counts, std::vector<MPI_Aint>& displs) {
  displs.resize(counts.size());
  MPI_Aint next = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    displs[i] = next;
    next += static_cast<MPI_Aint>(counts[i]);
  }
}

void KeptOperation::Arrays::copy(Side& side, int32_t blocks) {
  counts.assign(side.counts, side.counts + blocks);
  if (side.displs != nullptr)
    displs.assign(side.displs, side.displs + blocks);
  else
    make_adjacent(counts, displs);
  side.counts = counts.data();
  side.displs = displs.data();
  if (side.types == nullptr) return;
  types.assign(side.types, side.types + blocks);
  for (core::Datatype* type : types) held.emplace_back(type);
  side.types = types.data();
}

}  // namespace tern::coll

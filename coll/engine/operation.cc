// SPDX-License-Identifier: Apache-2.0
#include "coll/engine/operation.hpp"

#include <cstring>

#include "base/error.hpp"

namespace tern::coll {

core::Data block_of(const Side& side, int32_t block) noexcept {
  core::Data data{side.address, side.count, side.type, cuda::MemoryKind::kDevice};
  if (block < 0) return data;
  const auto i = static_cast<size_t>(block);
  if (side.types != nullptr) data.type = side.types[i];
  MPI_Aint displacement = block * side.count;
  if (side.counts != nullptr) {
    data.count = side.counts[i];
    displacement = 0;
    if (side.displs != nullptr) displacement = side.displs[i];
    for (size_t k = 0; side.displs == nullptr && k < i; ++k) displacement += side.counts[k];
  }
  if (side.types == nullptr) displacement *= side.type->extent();
  data.address = static_cast<std::byte*>(side.address) + displacement;
  return data;
}

std::string part_in(const char* name, const core::Communicator& communicator) {
  return strf("its part in %s %s on %s", std::strchr("aeiou", name[0]) ? "an" : "a", name,
              communicator.name.or_words("a communicator without a name").c_str());
}

}  // namespace tern::coll

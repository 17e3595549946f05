// SPDX-License-Identifier: Apache-2.0
// Blocking collectives of objects of the library, as bytes. `serves` names the user's call.
// Errors: an error class with fail() text. Throws std::bad_alloc.
#pragma once

#include <vector>

#include "coll/coll.hpp"

namespace tern::coll {

template <class T>
int allgather(core::Communicator& among, const T& mine, std::vector<T>* all,
              const char* serves = nullptr) {
  all->resize(static_cast<size_t>(among.size()));
  core::Datatype& byte = core::predefined_type(among.process(), MPI_BYTE);
  Operation operation{};
  operation.collective = Collective::kAllgather;
  operation.communicator = &among;
  operation.input = {const_cast<T*>(&mine), sizeof mine, &byte};
  operation.output = {all->data(), sizeof mine, &byte};
  operation.serves = serves;
  return among.channel().coll->run(operation);
}

/// The bytes of rank 0.
inline int bcast(core::Communicator& among, void* data, size_t bytes,
                 const char* serves = nullptr) {
  core::Datatype& byte = core::predefined_type(among.process(), MPI_BYTE);
  Operation operation{};
  operation.collective = Collective::kBcast;
  operation.communicator = &among;
  operation.input = operation.output = {data, static_cast<MPI_Count>(bytes), &byte};
  operation.serves = serves;
  return among.channel().coll->run(operation);
}

}  // namespace tern::coll

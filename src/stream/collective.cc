// SPDX-License-Identifier: Apache-2.0
#include "stream/collective.hpp"

#include <new>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::stream {
namespace {

std::unique_ptr<Call> make_call(CommStream& on, const coll::Operation& operation,
                                const char* name) {
  if (coll::splits(operation.collective) || operation.collective == coll::Collective::kBarrier)
    return make_vector_call(on, operation, name);
  const bool all_know_all = !operation.irregular ||
                            operation.collective == coll::Collective::kAllgather ||
                            operation.collective == coll::Collective::kReduceScatter;
  return all_know_all ? make_blocks_call(on, operation, name)
                      : make_exchange_call(on, operation, name);
}

}  // namespace

// The engine of streams is asked first: what it says is alike on all ranks, and it takes something
// only where all of them have a GPU's stream.
int enqueue(CommStream& on, const coll::Operation& operation, const char* name) noexcept {
  bool taken = false;
  if (const int code = on.enqueue_between_streams(operation, &taken); code != MPI_SUCCESS || taken)
    return code;
  try {
    return on.enqueue(make_call(on, operation, name));
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to enqueue %s", coll::name_of(operation.collective));
  } catch (const Error& error) {
    return fail(error);
  }
}

}  // namespace tern::stream

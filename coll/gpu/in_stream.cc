// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/in_stream.hpp"

#include "mpi.h"

namespace tern::coll {

Failure InStream::end(Collective what) {
  if (!captured_ && !job_.failed()) job_.note("cuEventRecord", team_.calls.end(job_.stream()));
  team_.calls.keep(job_.take_kept(), captured_);
  if (!job_.failed()) return {};
  return failure(MPI_ERR_OTHER, "%s: enqueuing on the stream failed: %s", name_of(what),
                 job_.failure().c_str());
}

}  // namespace tern::coll

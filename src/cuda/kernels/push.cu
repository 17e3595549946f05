// SPDX-License-Identifier: Apache-2.0
// Collectives in one hop, allreduce and bcast also in two, over LL, LL128 and bulk.
#include "cuda/kernels/bulk.cuh"
#include "cuda/kernels/push.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_push, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<LlWire<EveryFlag>>(arguments, *shared).run();
}

TERN_KERNEL(tern_push_lines, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<LinesWire<EveryLine>>(arguments, *shared).run();
}

TERN_KERNEL(tern_push_bulk, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  BulkPusher<BulkOrder>(arguments, *shared).run();
}

}  // namespace tern::cuda

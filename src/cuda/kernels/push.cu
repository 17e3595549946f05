// SPDX-License-Identifier: Apache-2.0
// Small collectives in one hop, and allreduce in two, over LL and LL128.
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

}  // namespace tern::cuda

// SPDX-License-Identifier: Apache-2.0
// Small collectives in one hop, and allreduces in two.
#include "cuda/kernels/push.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_push, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<EveryFlag>(arguments, *shared).run();
}

}  // namespace tern::cuda

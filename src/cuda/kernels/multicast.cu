// SPDX-License-Identifier: Apache-2.0
// Collectives through an NVLink switch.
#include "cuda/kernels/multicast.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_multicast, MulticastArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Multicaster<WordsInOrder>(arguments, *shared).run();
}

}  // namespace tern::cuda

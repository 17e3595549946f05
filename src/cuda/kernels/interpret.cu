// SPDX-License-Identifier: Apache-2.0
// Programs of collectives.
#include "cuda/kernels/interpret.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_interpret, InterpretArguments, 256, together) {
  TERN_SHARED(InterpretShared, shared);
  Interpreter<AcquiringLook>(arguments, *shared).run();
}

}  // namespace tern::cuda

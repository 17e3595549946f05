// SPDX-License-Identifier: Apache-2.0
// Blocks of pairwise known sizes.
#include "cuda/kernels/exchange.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_exchange, ExchangeArguments, 256, together) {
  TERN_SHARED(InterpretShared, shared);
  Exchanger<AllWaits>(arguments, *shared).run();
}

}  // namespace tern::cuda

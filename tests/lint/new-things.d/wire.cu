// SPDX-License-Identifier: Apache-2.0
// A wire with the stores of LL.
#include "cuda/kernels/push.cuh"

namespace tern::cuda {
namespace {

struct DummyWire : LlWire<EveryFlag> {};

}  // namespace

TERN_KERNEL(tern_dummy, PushArguments, 256, together) {
  TERN_SHARED(PushShared, shared);
  Pusher<DummyWire>(arguments, *shared).run();
}

}  // namespace tern::cuda

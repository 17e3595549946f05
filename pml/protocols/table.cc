// SPDX-License-Identifier: Apache-2.0
// The protocols of large messages, in the order in which they are asked. Smaller ones go at once
// (eager.hpp), without a choice. Each is defined at the end of the file of its name.
#include "pml/protocol.hpp"

// clang-format off
#define TERN_PROTOCOLS(ROW)                                                               \
  ROW(kDeviceMapped)  /* one copy by the receiver's device, from where the data lies */   \
  ROW(kDevicePieces)  /* the same from a block into which it was packed */                \
  ROW(kBothEnds)      /* one copy that both processes share */                            \
  ROW(kPull)          /* one copy by the receiver */                                      \
  ROW(kPut)           /* the sender writes to the receiver's memory over the network */   \
  ROW(kBounced)       /* device memory through pinned host memory, then as the next */    \
  ROW(kPipeline)      /* two copies, through the transport's memory */
// clang-format on
#define TERN_DECLARED(protocol) extern const Protocol protocol;
#define TERN_ROW(protocol) &protocol,

namespace tern::pml {

TERN_PROTOCOLS(TERN_DECLARED)

ProtocolTable protocols() noexcept {
  static constexpr const Protocol* kTable[] = {TERN_PROTOCOLS(TERN_ROW)};
  return kTable;
}
#undef TERN_DECLARED
#undef TERN_ROW

}  // namespace tern::pml

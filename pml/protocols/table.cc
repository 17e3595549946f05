// SPDX-License-Identifier: Apache-2.0
// The protocols of large messages, in order of preference. Small messages use eager.hpp.
#include "pml/protocol.hpp"

// clang-format off
#define TERN_PROTOCOLS(ROW)                                                               \
  ROW(kDeviceMapped)  /* one copy by the receiver's device */                             \
  ROW(kDevicePieces)  /* the same from a packed block */                                  \
  ROW(kBothEnds)      /* one copy shared by both processes */                             \
  ROW(kGet)           /* RDMA reads of the sender's memory */                             \
  ROW(kPull)          /* one copy by the receiver */                                      \
  ROW(kPut)           /* RDMA writes to the receiver's memory */                          \
  ROW(kBounced)       /* device memory through pinned memory, then as kPipeline */        \
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

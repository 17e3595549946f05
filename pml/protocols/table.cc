// SPDX-License-Identifier: Apache-2.0
// The protocols of large messages, in the order in which they are asked. Smaller ones go at once
// (eager.hpp), without a choice.
#include "pml/protocols/rows.hpp"

namespace tern::pml {

ProtocolTable protocols() noexcept {
  static constexpr const Protocol* kTable[] = {
      &kDeviceMapped,  // one copy by the receiver's device, from where the data lies
      &kDevicePieces,  // the same from a block into which it was packed
      &kBothEnds,      // one copy that both processes share
      &kPull,          // one copy by the receiver
      &kBounced,       // device memory through pinned host memory, then as the next
      &kPipeline,      // two copies, through the transport's memory
  };
  return kTable;
}

}  // namespace tern::pml

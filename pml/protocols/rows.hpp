// SPDX-License-Identifier: Apache-2.0
// The rows of the table of protocols: each is defined at the end of the file of its name.
#pragma once

#include "pml/protocol.hpp"

namespace tern::pml {

extern const Protocol kDeviceMapped;  // device_mapped.cc
extern const Protocol kDevicePieces;  // device_pieces.cc
extern const Protocol kBothEnds;      // both_ends.cc
extern const Protocol kPull;          // pull.cc
extern const Protocol kBounced;       // bounced.cc
extern const Protocol kPipeline;      // pipeline.cc

}  // namespace tern::pml

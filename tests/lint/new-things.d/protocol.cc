// SPDX-License-Identifier: Apache-2.0
// A protocol without viable messages.
#include "pml/protocol.hpp"

namespace tern::pml {

extern const Protocol kDummy{
    .name = "dummy",
    .way = wire::Way::kNone,
    .always = false,
    .acknowledged = false,
    .viable_to_send = [](const ProtocolContext&, const SendRequest&) { return false; },
    .send = [](ProtocolContext&, SendRequest&) -> std::unique_ptr<SenderHalf> { return nullptr; },
    .viable_to_receive = [](const ProtocolContext&, const RecvRequest&,
                            const Announced&) { return false; },
    .receive = [](ProtocolContext&, RecvRequest&,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> { return nullptr; }};

}  // namespace tern::pml

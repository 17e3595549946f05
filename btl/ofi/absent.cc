// SPDX-License-Identifier: Apache-2.0
// The row of the table in a build without libfabric's headers.
#include "btl/net/trial.hpp"
#include "btl/transport.hpp"

namespace tern::btl::ofi {

extern const Transport kTransport{
    .name = "ofi",
    .reaches = net::kReaches,
    .make = [](core::Process&, Sink&, AddressBook&) -> std::unique_ptr<Btl> { return nullptr; },
    .try_here = []() -> std::vector<Trial> {
      return {{"ofi", net::kReaches, false, "this build was made without libfabric",
               "install its headers (Debian and Ubuntu: libfabric-dev) and build again"}};
    }};

}  // namespace tern::btl::ofi

// SPDX-License-Identifier: Apache-2.0
// The row of the table in a build without UCX's headers.
#include "btl/transport.hpp"

namespace tern::btl::ucx {

extern const Transport kTransport{
    .name = "ucx",
    .reaches = "ranks of other hosts",
    .make = [](core::Process&, Sink&, AddressBook&) -> std::unique_ptr<Btl> { return nullptr; },
    .try_here = []() -> std::vector<Trial> {
      return {{"ucx", "ranks of other hosts", false, "this build was made without UCX",
               "install its headers (Debian and Ubuntu: libucx-dev) and build again"}};
    }};

}  // namespace tern::btl::ucx

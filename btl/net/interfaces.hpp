// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this host, for words on what the libraries use of them.
// Why: bridges that containers and virtual machines of each host have carry the same addresses
// everywhere, and lead to no other host; a library that takes one of them waits in vain.
#pragma once

#include <string>
#include <vector>

namespace tern::btl::net {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // "10.0.0.1"; IPv4
};

/// Those that are up, but for the loopback. Empty where the kernel does not tell.
[[nodiscard]] std::vector<Interface> interfaces();
/// By its name: docker0, virbr0, podman1, cni0, br-1f2e3d...
[[nodiscard]] bool stays_on_host(const Interface& one);
/// "this host has eth0 (10.0.0.1) and docker0 (172.17.0.1); docker0 leads to no other host:
/// UCX_NET_DEVICES=eth0 leaves it out", with `variable` for the library's; "" of none.
[[nodiscard]] std::string words_on(const std::vector<Interface>& all, const char* variable);

}  // namespace tern::btl::net

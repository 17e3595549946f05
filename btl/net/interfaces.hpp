// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this host, for TERN_EXPLAIN.
// Why: bridges of containers and virtual machines have equal addresses on all hosts and reach no
// other host. A library that chooses a bridge hangs.
#pragma once

#include <string>
#include <vector>

namespace tern::btl::net {

struct Interface {
  std::string name;     // "eth0"
  std::string address;  // IPv4: "10.0.0.1"
};

/// All interfaces that are up, except loopback. Empty if the kernel reports none.
[[nodiscard]] std::vector<Interface> interfaces();
/// Judges by name: docker0, virbr0, podman1, cni0, br-1f2e3d...
[[nodiscard]] bool stays_on_host(const Interface& one);
/// "this host has eth0 (10.0.0.1) and docker0 (172.17.0.1); docker0 reaches no other host:
/// UCX_NET_DEVICES=eth0 excludes it". `variable` is the library's; empty without interfaces.
[[nodiscard]] std::string words_on(const std::vector<Interface>& all, const char* variable);

}  // namespace tern::btl::net

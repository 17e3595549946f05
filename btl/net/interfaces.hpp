// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this host, for TERN_EXPLAIN.
// Why: a library hangs on a bridge of containers or virtual machines.
#pragma once

#include <string>
#include <vector>

namespace tern::btl::net {

struct Interface {
  std::string name;
  std::string address;
};

[[nodiscard]] std::vector<Interface> interfaces();
/// stays_on_host() judges by name: docker0, virbr0, podman1, cni0, br-1f2e3d...
[[nodiscard]] bool stays_on_host(const Interface& one);
[[nodiscard]] std::string words_on(const std::vector<Interface>& all, const char* variable);

}  // namespace tern::btl::net

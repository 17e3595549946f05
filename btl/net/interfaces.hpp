// SPDX-License-Identifier: Apache-2.0
// The network interfaces of this host, and those that lead to other hosts.
// Why: a library takes any interface, also a bridge of containers, or one that leads nowhere.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tern::core {
class Process;
}

namespace tern::btl::net {

struct Interface {
  std::string name;
  std::string address;
  bool running = true;  // has a carrier
};

[[nodiscard]] std::vector<Interface> interfaces();
/// text_of() is empty for other families, and for addresses of a single link.
[[nodiscard]] std::string text_of(const sockaddr& address);
/// stays_on_host() judges by name: docker0, virbr0, podman1, cni0, br-1f2e3d...
[[nodiscard]] bool stays_on_host(const Interface& one);

/// route() returns the address of this host on the kernel's way to `address`, or "".
using Route = std::function<std::string(const std::string& address)>;
[[nodiscard]] std::string route(const std::string& address);

struct Choice {
  std::vector<Interface> used;  // some of all; empty: the library chooses
  std::string why;              // "docker0 reaches no other host"
};
/// choose() prefers the ways to the addresses of some peers.
[[nodiscard]] Choice choose(const std::vector<Interface>& all,
                            const std::vector<std::string>& peers, const Route& way = route);
/// The choice for this job. Looks up names of other hosts for at most a second. Several rails: all
/// running interfaces, because a name leads to one.
[[nodiscard]] Choice choose_for(core::Process& process, int64_t rails = 1);

/// `variable` changes the choice.
[[nodiscard]] std::string words_on(const std::vector<Interface>& all, const Choice& choice,
                                   const char* variable);
/// "eth0,eth1"
[[nodiscard]] std::string names_of(const std::vector<Interface>& some);

}  // namespace tern::btl::net

// SPDX-License-Identifier: Apache-2.0
// How long TCP connections that a library made wait for a peer that does not answer.
// Why: UCX and libfabric leave that to the kernel, which tries for a quarter of an hour where data
// is under way (UCX_TCP_USER_TIMEOUT came after 1.13). A peer's kernel answers while its process
// computes, so that only a host or a link that has gone is meant. The libraries do not show their
// connections: they are found as members of an event descriptor, or by their ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::btl::net {

/// All connections behind an epoll descriptor; how many. `timeout_us`: without an answer.
int limit_silence(int epoll, int64_t timeout_us) noexcept;

/// All of this process that one of these addresses, bytes of a sockaddr, is an end of; how many.
int limit_silence(const std::vector<std::string>& addresses, int64_t timeout_us) noexcept;

}  // namespace tern::btl::net

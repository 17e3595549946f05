// SPDX-License-Identifier: Apache-2.0
// Time limits for TCP connections that a library made.
// Why: UCX and libfabric leave timeouts to the kernel, which retries for 15 minutes if data is
// under way (UCX_TCP_USER_TIMEOUT came after 1.13). A peer's kernel answers even while the process
// computes, so a timeout means a lost host or link. The libraries hide their connections: Tern
// finds them through the epoll descriptor, or by address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::btl::net {

/// Limits all connections behind an epoll descriptor to `timeout_us` without an answer. Returns
/// their number.
int limit_silence(int epoll, int64_t timeout_us) noexcept;

/// Limits all connections of this process from or to one of `addresses` (bytes of a sockaddr).
/// Returns their number.
int limit_silence(const std::vector<std::string>& addresses, int64_t timeout_us) noexcept;

}  // namespace tern::btl::net

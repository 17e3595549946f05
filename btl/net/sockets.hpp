// SPDX-License-Identifier: Apache-2.0
// Time limits for TCP connections made by a library.
// Why: UCX and libfabric leave timeouts to the kernel (15 minutes; UCX_TCP_USER_TIMEOUT came after
// 1.13). A peer's kernel answers even while the process computes, hence a timeout means a lost host
// or link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::btl::net {

/// limit_silence() returns the number of connections.
int limit_silence(int epoll, int64_t timeout_us) noexcept;

int limit_silence(const std::vector<std::string>& addresses, int64_t timeout_us) noexcept;

}  // namespace tern::btl::net

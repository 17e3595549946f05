// SPDX-License-Identifier: Apache-2.0
// How long UCX's TCP connections wait for a peer that does not answer.
// Why: UCX leaves that to the kernel, which tries for a quarter of an hour where data is under way
// (UCX_TCP_USER_TIMEOUT came after 1.13). A peer's kernel answers while its process computes, so
// that only a host or a link that has gone is meant. Found as members of the worker's event
// descriptor, for UCX does not show them.
#pragma once

#include <cstdint>

namespace tern::btl::net {

/// All connections behind an epoll descriptor; how many. `timeout_us`: without an answer.
int limit_silence(int epoll, int64_t timeout_us) noexcept;

}  // namespace tern::btl::net

// SPDX-License-Identifier: Apache-2.0
// Accepts connections to mpirun's PMIx server, asks the kernel for each client's owner, and hands
// the socket to libpmix.
// Threads: the loop's; libpmix accepts on its own thread.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace tern::mpirun {

// Returns a listening socket on 127.0.0.1; *port is unchanged on failure.
Fd listen_on_loopback(int* port);

// Whether the kernel reports another user as the owner of the client's socket, or reports only the
// listener's owner.
bool is_from_other_user(int client, int listener);

// `port`: libpmix's. Returns the client's number for is_taken(). Throws Error.
std::uint64_t hand_to_libpmix(Fd client, int port);

bool is_taken(std::uint64_t number);

}  // namespace tern::mpirun

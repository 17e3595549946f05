// SPDX-License-Identifier: Apache-2.0
// Connections to mpirun's PMIx server: mpirun accepts each client, asks the kernel for its owner,
// and hands the socket to libpmix.
// Threads: the loop's; libpmix accepts on a thread of its own.
// See: tools/mpirun/pmix_server.hpp.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace tern::mpirun {

// A listening socket on 127.0.0.1; *port stays as it is on failure.
Fd listen_on_loopback(int* port);

// True: the kernel names another user as the owner of the client's end, or names only the owner
// of the listener.
bool is_from_other_user(int client, int listener);

// `port`: libpmix's own. Returns the number of the client for is_taken(). Throws Error.
std::uint64_t hand_to_libpmix(Fd client, int port);

// Whether libpmix has accepted the client.
bool is_taken(std::uint64_t number);

}  // namespace tern::mpirun

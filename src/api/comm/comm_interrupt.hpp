// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Comm_interrupt. Threads: any thread may call comm_interrupt() at any time.
#pragma once

#include "base/error.hpp"

namespace tern::core {
class Communicator;
}

namespace tern::api {

[[nodiscard]] int comm_interrupt(core::Communicator& comm) noexcept;
/// Ends all operations with `why`. The caller holds the channel's lock and keeps the communicator.
void break_off(core::Communicator& comm, const Failure& why) noexcept;

}  // namespace tern::api

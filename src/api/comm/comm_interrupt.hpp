// SPDX-License-Identifier: Apache-2.0
// The body of MPIX_Comm_interrupt. Threads: any thread may call comm_interrupt() at
// MPI_THREAD_MULTIPLE.
#pragma once

namespace tern::core {
class Communicator;
}
namespace tern::api {

[[nodiscard]] int comm_interrupt(core::Communicator& comm) noexcept;

}  // namespace tern::api

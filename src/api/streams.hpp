// SPDX-License-Identifier: Apache-2.0
// What other chapters need of streams.
// Threads: as each function says.
#pragma once

#include <string>

#include "core/communicator.hpp"

namespace tern::api {

/// Of an operation that was enqueued: ends the program where the handler of the communicator does;
/// else returns. The proxy's thread.
void raise_if_fatal(core::Communicator& communicator, int code, const std::string& text);

/// A duplicate has the stream of its parent. An error class with fail() text.
[[nodiscard]] int copy_stream(const core::Communicator& parent, core::Communicator& made);

/// The user frees the communicator: what is enqueued on it ends properly.
void end_stream(core::Communicator& communicator) noexcept;

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Streams for other chapters. Threads: stated per function.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

/// The stream state of a communicator, or an error class with fail() text.
[[nodiscard]] int find_stream(core::Communicator& comm, stream::CommStream** found) noexcept;

/// Whether a duplicate, about to be made on all ranks, gets the twin of its parent's team (the
/// first duplicate does).
[[nodiscard]] bool takes_twin(const core::Communicator& parent) noexcept;
/// Gives a duplicate the stream of its parent. Returns an error class with fail() text.
[[nodiscard]] int copy_stream(const core::Communicator& parent, core::Communicator& made,
                              bool with_twin);

/// The minimum of `mine` over all ranks. Returns an error class with fail() text.
[[nodiscard]] int agree_on_least(core::Communicator& comm, int64_t mine, size_t* least);

/// Derives a communicator for enqueued collectives from all or some members, on the same channel.
/// `sibling` is distinct among shadows of one communicator.
[[nodiscard]] core::Communicator* derive_shadow(core::Communicator& of,
                                                core::Ref<core::Group> members, uint64_t sibling);

/// Collective: creates the parts for large collectives of a communicator with several NVLink
/// domains (`islands`: by rank, from topo::islands_of()). Returns false on all ranks if islands do
/// not help. Throws Error, std::bad_alloc.
[[nodiscard]] bool make_islands(core::Communicator& comm,
                                const std::shared_ptr<stream::CommStream>& whole,
                                const std::vector<int>& islands);

/// Called when the user frees the communicator: enqueued operations still complete.
void end_stream(core::Communicator& communicator) noexcept;

}  // namespace tern::api

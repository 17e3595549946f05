// SPDX-License-Identifier: Apache-2.0
// What other chapters need of streams.
// Threads: as each function says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

/// Of a communicator with a stream; else an error class with fail() text.
[[nodiscard]] int find_stream(core::Communicator& comm, stream::CommStream** found) noexcept;

/// A duplicate is about to be made, on all ranks: whether it gets the twin of its parent's team.
[[nodiscard]] bool takes_twin(const core::Communicator& parent) noexcept;
/// A duplicate has the stream of its parent. An error class with fail() text.
[[nodiscard]] int copy_stream(const core::Communicator& parent, core::Communicator& made,
                              bool with_twin);

/// The least of a number of all ranks'. An error class with fail() text.
[[nodiscard]] int agree_on_least(core::Communicator& comm, int64_t mine, size_t* least);

/// Of the same members, or of some, and in the same channel; enqueued collectives alone know it.
/// `sibling`: another for each of one communicator.
[[nodiscard]] core::Communicator* derive_shadow(core::Communicator& of,
                                                core::Ref<core::Group> members, uint64_t sibling);

/// Together with all ranks: parts that do large collectives of a communicator whose ranks are on
/// islands (by rank, as topo::islands_of() gives them). False on all of them where that does not
/// serve. Throws Error, std::bad_alloc.
[[nodiscard]] bool make_islands(core::Communicator& comm,
                                const std::shared_ptr<stream::CommStream>& whole,
                                const std::vector<int>& islands);

/// The user frees the communicator: what is enqueued on it ends properly.
void end_stream(core::Communicator& communicator) noexcept;

}  // namespace tern::api

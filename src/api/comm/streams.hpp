// SPDX-License-Identifier: Apache-2.0
// Stream functions for MPI functions of other chapters.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "stream/comm_stream.hpp"

namespace tern::api {

[[nodiscard]] int find_stream(core::Communicator& comm, stream::CommStream** found) noexcept;

/// Whether a duplicate gets the twin of its parent's team; the first duplicate does. Call on all
/// ranks.
[[nodiscard]] bool takes_twin(const core::Communicator& parent) noexcept;
/// Returns an error class with fail() text.
[[nodiscard]] int copy_stream(const core::Communicator& parent, core::Communicator& made,
                              bool with_twin);

/// Sets *least to the ranks' minimum. Like copy_stream(), returns an error class with fail() text.
[[nodiscard]] int agree_on_least(core::Communicator& comm, int64_t mine, size_t* least);

/// Derives the communicator for enqueued collectives, on the same channel. `sibling` is distinct
/// per communicator.
[[nodiscard]] core::Communicator* derive_shadow(core::Communicator& of,
                                                core::Ref<core::Group> members, uint64_t sibling);

/// Collective: creates the communicators of groups of GPUs with peer access (`islands`, from
/// topo::islands_of()). Returns false on all ranks if islands do not help. Throws Error,
/// std::bad_alloc.
[[nodiscard]] bool make_islands(core::Communicator& comm,
                                const std::shared_ptr<stream::CommStream>& whole,
                                const std::vector<int>& islands);

void end_stream(core::Communicator& communicator) noexcept;

}  // namespace tern::api

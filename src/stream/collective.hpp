// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives: cut into passes whose data fits a half, alike on all ranks.
// How: a vector (broadcast, reductions) goes in parts of the vector, blocks in parts of each block,
// by facts known to all ranks: the collective, bytes, ranks, and the size of a half. Where a rank
// knows its own blocks alone (coll/engine/pairs.hpp), each pair of ranks exchanges messages.
// Lifetime: Calls. See: coll/engine/operation.hpp; tests/gpu/mpi/stream_collectives.cc.
#pragma once

#include <memory>
#include <optional>

#include "coll/engine/operation.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

/// Puts a collective of the communicator into its stream, or does it where that is
/// MPIX_STREAM_NULL. `name`: of the function. An error class with fail() text.
[[nodiscard]] int enqueue(CommStream& on, const coll::Operation& operation,
                          const char* name) noexcept;

enum class Tell : uint8_t { kWhole, kParts };  // kParts: the islands' communicators, too
/// This rank takes no part in the next collective, for the reason of the last fail(), which has
/// this class: other ranks are told at this place in the stream. Nothing in a capture.
void refuse(CommStream& on, int code, std::optional<coll::CallKind> aliased,
            Tell whom = Tell::kParts) noexcept;

/// By the devices alone within islands, and by the host between islands. Alike on all ranks.
[[nodiscard]] bool goes_by_islands(const coll::Operation& operation) noexcept;
/// An error class with fail() text; throws std::bad_alloc. The parts know an error already.
[[nodiscard]] int enqueue_by_islands(const Islands& islands, const coll::Operation& operation,
                                     const char* name);

/// Of one form each; throw Error where the arguments cannot be served.
[[nodiscard]] std::unique_ptr<Call> make_vector_call(CommStream& on,
                                                     const coll::Operation& operation,
                                                     const char* name);
[[nodiscard]] std::unique_ptr<Call> make_blocks_call(CommStream& on,
                                                     const coll::Operation& operation,
                                                     const char* name);
[[nodiscard]] std::unique_ptr<Call> make_exchange_call(CommStream& on,
                                                       const coll::Operation& operation,
                                                       const char* name);

}  // namespace tern::stream

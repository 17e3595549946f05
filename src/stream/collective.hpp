// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives, cut into passes that fit a half of the board, alike on all ranks. How:
// vectors (broadcast, reductions) and blocks are cut into parts, from facts known to all
// ranks: collective, bytes, ranks, size of a half. If ranks know only their own blocks
// (coll/engine/pairs.hpp), each pair of ranks exchanges messages.
// Lifetime: Calls.
#pragma once

#include <memory>
#include <optional>

#include "coll/engine/operation.hpp"
#include "stream/comm_stream.hpp"

namespace tern::stream {

/// enqueue() runs the collective at once for MPIX_STREAM_NULL.
[[nodiscard]] int enqueue(CommStream& on, const coll::Operation& operation,
                          const char* name) noexcept;

enum class Tell : uint8_t { kWhole, kParts };  // kParts: also the islands' communicators
/// refuse() refuses the next collective, for the reason of the last fail(). Other ranks learn the
/// reason when the stream gets there. No effect in a capture.
void refuse(CommStream& on, int code, std::optional<coll::CallKind> aliased,
            Tell whom = Tell::kParts) noexcept;

/// goes_by_islands() is true on all ranks if devices run the steps within islands, and the
/// host the steps in between.
[[nodiscard]] bool goes_by_islands(const coll::Operation& operation) noexcept;
/// enqueue_by_islands() throws std::bad_alloc. The parts of the stream know its error already.
[[nodiscard]] int enqueue_by_islands(const Islands& islands, const coll::Operation& operation,
                                     const char* name);

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

// SPDX-License-Identifier: Apache-2.0
// Exchanges between members during communicator creation, where collectives are unavailable.
// Threads: one exchange per communicator at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/communicator.hpp"

namespace tern::api {

/// Gathers `bytes` per member in `all`, by rank. `number` is equal on all members and new for each
/// exchange. Returns an error class with fail() text. Cost: ceil(log2 n) rounds, (n - 1) * bytes
/// sent per rank (Bruck et al. 1997).
[[nodiscard]] int allgather(core::Communicator& communicator, void* all, size_t bytes,
                            uint64_t number);

using Words = std::vector<uint64_t>;
/// A text as its length and words.
[[nodiscard]] Words pack_text(const std::string& text);
[[nodiscard]] std::string unpack_text(const Words& words);

/// Sends along a binomial tree. `number` as for allgather().
[[nodiscard]] int broadcast(core::Communicator& communicator, int root, Words* words,
                            uint64_t number);
/// Exchanges fail if a member that must live has failed.
enum class Needs : uint8_t { kAllMembers, kPartner };
/// Exchanges words with one rank. `tag` is the user's, in a separate tag space.
[[nodiscard]] int swap(core::Communicator& communicator, int with, const Words& mine, Words* theirs,
                       int tag, Needs needs);

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// The canonical text of forests: equal plans have equal bytes, on all ranks and from all compilers.
// A file of plans and the agreement between ranks use this text and its hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/forest/certify.hpp"

namespace tern::coll::forest {

/// Forests of a call, in the order of its phases.
using Forests = std::vector<Forest>;

/// Hops of the longest way from a root.
[[nodiscard]] int32_t depth_of(const Tree& tree);
[[nodiscard]] int32_t depth_of(const Forest& forest);

[[nodiscard]] std::string text_of(const Forests& forests);
/// Reads text_of()'s text. Throws tern::Error with `name` and line: no other text is accepted, and
/// sizes are checked before memory is taken.
[[nodiscard]] Forests forests_in(const std::string& text, const std::string& name);
[[nodiscard]] uint64_t hash_of(const std::string& text) noexcept;

}  // namespace tern::coll::forest

// SPDX-License-Identifier: Apache-2.0
// Signature: the basic types of a buffer in order, as a number that two ranks can compare.
// Why: TERN_CHECK=types finds a send of 10 MPI_FLOAT that meets a receive of 10 MPI_INT, which is
// silent garbage without it. See: MPI-5.0 section 3.3.1; tests/unit/core/signature_test.cc.
#pragma once

#include <cstdint>
#include <string>

#include "core/datatype.hpp"

namespace tern::core {

/// A rolling hash, so that signatures concatenate and repeat without being written out.
struct Signature {
  uint64_t hash = 0;
  uint64_t elements = 0;  // basic ones
  friend bool operator==(const Signature&, const Signature&) = default;
};

[[nodiscard]] Signature concatenated(const Signature& first, const Signature& second) noexcept;
[[nodiscard]] Signature repeated(const Signature& one, uint64_t times) noexcept;

/// Of one element of `type`.
[[nodiscard]] Signature signature_of(const Datatype& type) noexcept;
/// Of the first `elements` basic elements (at most all) of `count` elements of `type`.
[[nodiscard]] Signature signature_prefix(const Datatype& type, MPI_Count count,
                                         uint64_t elements) noexcept;

/// "10 MPI_FLOAT", "3 of a derived type (6 basic elements)".
[[nodiscard]] std::string in_words(const Datatype& type, MPI_Count count);

}  // namespace tern::core

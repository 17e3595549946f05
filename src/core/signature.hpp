// SPDX-License-Identifier: Apache-2.0
// Signature: the sequence of basic types in a buffer, as a number, for TERN_CHECK=types (MPI-5.0
// section 3.3.1).
#pragma once

#include <cstdint>
#include <string>

#include "core/datatype.hpp"

namespace tern::core {

/// The hash is rolling, so signatures concatenate and repeat.
struct Signature {
  uint64_t hash = 0;
  uint64_t elements = 0;
  friend bool operator==(const Signature&, const Signature&) = default;
};

[[nodiscard]] Signature concatenated(const Signature& first, const Signature& second) noexcept;
[[nodiscard]] Signature repeated(const Signature& one, uint64_t times) noexcept;

[[nodiscard]] Signature signature_of(const Datatype& type) noexcept;
[[nodiscard]] Signature signature_prefix(const Datatype& type, MPI_Count count,
                                         uint64_t elements) noexcept;

/// Examples: "10 MPI_FLOAT", "3 of a derived type (6 basic elements)".
[[nodiscard]] std::string in_words(const Datatype& type, MPI_Count count);

}  // namespace tern::core

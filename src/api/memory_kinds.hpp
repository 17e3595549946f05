// SPDX-License-Identifier: Apache-2.0
// Memory kinds: the info key mpi_memory_alloc_kinds, and memory of a kind for MPI_Alloc_mem
// (MPI-5.0 section 11.4.3, and the MPI Forum's side document on memory allocation kinds). Threads:
// any.
#pragma once

#include <cstddef>
#include <string>

namespace tern::api {

/// Returns the supported subset of the requested "a,b:c", plus mpi, system, and cuda if loaded (or,
/// on request, installed).
[[nodiscard]] std::string supported_kinds(const std::string& requested);

[[nodiscard]] int alloc_kind(const std::string& kinds, size_t bytes, size_t alignment,
                             void** memory) noexcept;
/// Leaves plain host memory to the caller and returns false.
[[nodiscard]] bool free_kind(void* memory, int* code) noexcept;

}  // namespace tern::api

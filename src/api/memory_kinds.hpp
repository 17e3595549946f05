// SPDX-License-Identifier: Apache-2.0
// The memory kinds of this library, in the format of the info key mpi_memory_alloc_kinds, and
// memory of a kind for MPI_Alloc_mem.
// Why: a program requests "cuda:device" and learns the granted kinds, instead of trying.
// Lifetime: memory lives until free_kind(), independent of ranks. Threads: any. See: MPI-5.0
// section 11.4.3, the MPI Forum's side document on memory allocation kinds,
// tests/gpu/mpi/alloc_kinds.cc, tests/gpu/mpi/support_queries.cc.
#pragma once

#include <cstddef>
#include <string>

namespace tern::api {

/// The supported subset of the requested kinds "a,b:c", plus mpi, system, and cuda if the driver is
/// loaded (or, on request, installed).
[[nodiscard]] std::string supported_kinds(const std::string& requested);

/// Allocates memory of the first available kind in the list. Returns an error class with fail()
/// text.
[[nodiscard]] int alloc_kind(const std::string& kinds, size_t bytes, size_t alignment,
                             void** memory) noexcept;
/// Returns false for plain host memory, which the caller must free.
[[nodiscard]] bool free_kind(void* memory, int* code) noexcept;

}  // namespace tern::api

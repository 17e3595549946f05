// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that this library works with, as the info key mpi_memory_alloc_kinds names
// them, and memory of a kind for MPI_Alloc_mem.
// Why: a program asks for "cuda:device" and learns what it gets, instead of trying.
// Lifetime: memory lives until free_kind(); nothing belongs to a rank. Threads: any.
// See: MPI-5.0 section 11.4.3, the MPI Forum's side document on memory allocation kinds,
// tests/gpu/mpi/alloc_kinds.cc, tests/gpu/mpi/support_queries.cc.
#pragma once

#include <cstddef>
#include <string>

namespace tern::api {

/// What there is of the kinds "a,b:c" that were asked for, with what is there anyhow: mpi, system,
/// and cuda where the driver is loaded or, as the program asks for it, installed.
[[nodiscard]] std::string supported_kinds(const std::string& requested);

/// Memory of the first kind of the list that can be served. The classes and sentences of fail().
[[nodiscard]] int alloc_kind(const std::string& kinds, size_t bytes, size_t alignment,
                             void** memory) noexcept;
/// False: the memory is plain host memory, which is the caller's to free.
[[nodiscard]] bool free_kind(void* memory, int* code) noexcept;

}  // namespace tern::api

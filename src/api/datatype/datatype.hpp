// SPDX-License-Identifier: Apache-2.0
// Handles of new types, and errors about bad handles.
#pragma once

#include "api/attempt.hpp"
#include "api/process.hpp"
#include "core/datatype_build.hpp"

namespace tern::api {

constexpr bool kLarge = true;

/// The handle takes over the reference. Throws Error(MPI_ERR_NO_MEM).
int give_type(core::Ref<core::Datatype> type, MPI_Datatype* handle);

[[nodiscard]] core::Datatype* find_type(MPI_Datatype handle) noexcept;
[[nodiscard]] int no_type(const char* parameter, MPI_Datatype handle) noexcept;

template <class Make>
[[nodiscard]] int create_type(MPI_Datatype* handle, Make&& make) noexcept {
  return guarded([&] { give_type(make(), handle); });
}

}  // namespace tern::api

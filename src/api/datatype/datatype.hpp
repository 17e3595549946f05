// SPDX-License-Identifier: Apache-2.0
// What the bodies of the datatype chapter share: handles of new types, and what is said about bad
// ones.
#pragma once

#include "api/attempt.hpp"
#include "api/process.hpp"
#include "core/datatype_build.hpp"

namespace tern::api {

constexpr bool kLarge = true;  // a constructor's form with MPI_Count

/// Gives the type a handle, which takes over the reference. Throws Error(MPI_ERR_NO_MEM).
int give_type(core::Ref<core::Datatype> type, MPI_Datatype* handle);

/// The type, or nullptr.
[[nodiscard]] core::Datatype* find_type(MPI_Datatype handle) noexcept;
/// Says what is wrong with a handle that find_type did not find; `parameter` is its name in the
/// call.
[[nodiscard]] int no_type(const char* parameter, MPI_Datatype handle) noexcept;

/// Runs a constructor and hands its type to the user.
template <class Make>
[[nodiscard]] int create_type(MPI_Datatype* handle, Make&& make) noexcept {
  return guarded([&] { give_type(make(), handle); });
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// attempt: turns an Error or std::bad_alloc of set-up code into an error class.
#pragma once

#include <new>
#include <type_traits>

#include "base/error.hpp"

namespace tern {

template <class Work, class NoMemory>
[[nodiscard]] auto attempt(Work&& work, NoMemory&& no_memory) noexcept -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const Error& error) {
    if constexpr (std::is_same_v<decltype(work()), Failure>)
      return failure(error.mpi_class(), "%s", error.what());
    else
      return fail(error);
  }
}

}  // namespace tern

// SPDX-License-Identifier: Apache-2.0
// guarded and attempt: run set-up code with exceptions (attempt: also with error codes).
#pragma once

#include "api/errors.hpp"
#include "base/attempt.hpp"

namespace tern::api {

template <class Work>
[[nodiscard]] int guarded(Work&& work) noexcept {
  return tern::attempt(
      [&] {
        work();
        return 0;
      },
      fail_no_memory);
}

/// Usage: `return attempt([&] { ... return code; });`
template <class Work>
[[nodiscard]] int attempt(Work&& work) noexcept {
  return tern::attempt(work, fail_no_memory);
}

}  // namespace tern::api

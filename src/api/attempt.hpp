// SPDX-License-Identifier: Apache-2.0
// guarded: for set-up code with exceptions. attempt: for set-up code with exceptions and codes.
#pragma once

#include "api/errors.hpp"
#include "base/attempt.hpp"

namespace tern::api {

/// Runs set-up code for a body: an exception becomes the body's error code.
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

// SPDX-License-Identifier: Apache-2.0
// guarded: for set-up code with exceptions. attempt: for set-up code with exceptions and codes.
#pragma once

#include <new>

#include "api/errors.hpp"
#include "base/error.hpp"

namespace tern::api {

/// Runs set-up code for a body: an exception becomes the body's error code.
template <class Work>
[[nodiscard]] int guarded(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail_no_memory();
  }
}

/// Usage: `return attempt([&] { ... return code; });`
template <class Work>
[[nodiscard]] int attempt(Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  return thrown != 0 ? thrown : code;
}

}  // namespace tern::api

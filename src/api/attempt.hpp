// SPDX-License-Identifier: Apache-2.0
// attempt: guarded() for set-up code that both throws and returns an error class.
#pragma once

#include "api/process.hpp"

namespace tern::api {

/// Usage: `return attempt([&] { ... return code; });`
template <class Work>
[[nodiscard]] int attempt(Work&& work) noexcept {
  int code = 0;
  const int thrown = guarded([&] { code = work(); });
  return thrown != 0 ? thrown : code;
}

}  // namespace tern::api

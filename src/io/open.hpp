// SPDX-License-Identifier: Apache-2.0
// Opens and deletes files.
#pragma once

#include <string>

#include "io/file.hpp"

namespace tern::io {

/// Collective over `comm`; all ranks return the first error. `info` may be null. Throws Error,
/// std::bad_alloc.
[[nodiscard]] int open(core::Communicator& comm, const char* name, int amode,
                       const core::Info* info, core::Ref<File>* made);

[[nodiscard]] Failure remove(const char* name) noexcept;

}  // namespace tern::io

// SPDX-License-Identifier: Apache-2.0
// Functions given by MPIX_Boot_provide, kept for the next world. Threads: any.
#pragma once

#include <memory>

#include "boot/boot.hpp"
#include "mpix.h"

namespace tern::boot {

// provide() replaces unused earlier functions. Throws Error with the invalid member.
void provide(const MPIX_Boot& given);

// make_provided_boot() waits for all ranks. Throws Error if a function fails, or the ranks
// disagree.
[[nodiscard]] std::unique_ptr<Boot> make_provided_boot(const MPIX_Boot& given);

}  // namespace tern::boot

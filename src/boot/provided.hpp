// SPDX-License-Identifier: Apache-2.0
// Functions given by MPIX_Boot_provide, kept for the next world.
// Why: under a launcher without PMIx (torchrun, a batch system), the program has a store where
// processes can meet.
// Threads: any.
#pragma once

#include <memory>

#include "boot/boot.hpp"
#include "mpix.h"

namespace tern::boot {

// For the next make_boot(); replaces unused earlier functions. Throws Error with the invalid
// member.
void provide(const MPIX_Boot& given);

// Waits until all ranks have arrived. Throws Error if a function fails, or the ranks disagree about
// the job.
[[nodiscard]] std::unique_ptr<Boot> make_provided_boot(const MPIX_Boot& given);

}  // namespace tern::boot

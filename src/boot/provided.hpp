// SPDX-License-Identifier: Apache-2.0
// What the program has given by MPIX_Boot_provide, until the next world takes it.
// Why: a job whose launcher speaks neither Tern's nor PMIx's language (torchrun, a batch system)
// has some store in which its processes can meet.
// Threads: any.
#pragma once

#include <memory>

#include "boot/boot.hpp"
#include "mpix.h"

namespace tern::boot {

// For the next make_boot(); what was provided before, and not used, is dropped. Throws Error that
// names the member that is wrong.
void provide(const MPIX_Boot& given);

// A rank of a job that meets by these functions. Waits until all ranks have come here. Throws Error
// where a function fails, or the ranks do not agree about their job.
[[nodiscard]] std::unique_ptr<Boot> make_provided_boot(const MPIX_Boot& given);

}  // namespace tern::boot

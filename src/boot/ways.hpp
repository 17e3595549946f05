// SPDX-License-Identifier: Apache-2.0
// The ways to start that make_boot() chooses from. Each returns null where it does not apply.
#pragma once

#include <memory>

#include "boot/boot.hpp"

namespace tern::boot {

std::unique_ptr<Boot> make_mpirun_boot();
std::unique_ptr<Boot> make_pmix_boot();
std::unique_ptr<Boot> make_singleton_boot();

// Whether make_mpirun_boot() would give one.
bool is_rank_of_mpirun();

// This host's name, for messages.
std::string this_host();

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// The ways to start that make_boot() chooses from. Each returns null where it does not apply.
#pragma once

#include <memory>
#include <string>

namespace tern::boot {

class Boot;
struct PmixLibrary;

std::unique_ptr<Boot> make_mpirun_boot();
std::unique_ptr<Boot> make_pmix_boot();
/// `library` outlives it.
std::unique_ptr<Boot> make_pmix_boot(const PmixLibrary& library);
std::unique_ptr<Boot> make_singleton_boot();
/// Of what the program has provided, which it takes.
std::unique_ptr<Boot> make_provided_boot();

// What the environment, and the job's memory, say of this process. A rank whose starter has closed
// the memory's descriptor goes by way of PMIx. A descendant was started by a process that is the
// rank.
enum class Standing { kOutside, kRank, kRankWithoutMemory, kDescendant };
Standing standing_in_mpirun();
// This process is the rank from now on. False where a process that has started this one is the
// rank; true outside of mpirun. Ends the job where another program of the same rank runs.
bool claim_rank_of_mpirun();

// This host's name, for messages.
std::string this_host();

}  // namespace tern::boot

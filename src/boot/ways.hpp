// SPDX-License-Identifier: Apache-2.0
// Makers of the boot implementations, null if not applicable.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace tern::boot {

class Boot;
struct PmixLibrary;

std::unique_ptr<Boot> make_mpirun_boot();
std::unique_ptr<Boot> make_pmix_boot();
// abort() ends the process `answer` after the call, or `kill` after the server's answer.
struct AbortBounds {
  std::chrono::milliseconds answer{10000};
  std::chrono::milliseconds kill{5000};
};
std::unique_ptr<Boot> make_pmix_boot(const PmixLibrary& library, const AbortBounds& bounds = {});
std::unique_ptr<Boot> make_singleton_boot();
std::unique_ptr<Boot> make_provided_boot();

// A rank without the memory's descriptor uses PMIx. A descendant has an ancestor that is the rank.
enum class Standing { kOutside, kRank, kRankWithoutMemory, kDescendant };
Standing standing_in_mpirun();
// claim_rank_of_mpirun() returns false if an ancestor is the rank, and ends the job if another
// program of the rank is running.
bool claim_rank_of_mpirun();

std::string this_host();

}  // namespace tern::boot

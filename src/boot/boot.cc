// SPDX-License-Identifier: Apache-2.0
// What all ways to start have in common, and the choice between them.
#include "boot/boot.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {

bool Boot::is_local(int rank) const noexcept {
  return std::binary_search(job_.local_ranks.begin(), job_.local_ranks.end(), rank);
}

void Boot::check_rank(int rank, const char* what) const {
  if (rank >= 0 && rank < job_.size) return;
  throw Error(MPI_ERR_RANK, strf("%s of rank %d was asked for, but this job has ranks 0 to %d",
                                 what, rank, job_.size - 1));
}

std::string this_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

namespace {

// srun starts tasks without a PMIx server unless told: they would be many worlds of one.
void refuse_srun_without_pmix() {
  const char* tasks = std::getenv("SLURM_NTASKS");
  if (std::getenv("SLURM_PROCID") != nullptr && std::getenv("SLURM_STEP_ID") != nullptr &&
      tasks != nullptr && std::atoi(tasks) > 1)
    throw Error(MPI_ERR_OTHER,
                strf("srun started %s tasks without PMIx, so they cannot find each other; start "
                     "them by `srun --mpi=pmix`",
                     tasks));
}

// MPICH's mpiexec speaks PMI-1 only: again many worlds of one.
void refuse_pmi_launcher() {
  const char* size = std::getenv("PMI_SIZE");
  if (std::getenv("PMI_RANK") != nullptr && size != nullptr && std::atoi(size) > 1)
    throw Error(MPI_ERR_OTHER,
                strf("a launcher without PMIx (MPICH's mpiexec?) started %s processes, so they "
                     "cannot find each other; start them by Tern's mpirun, or by a launcher with "
                     "PMIx (TERN_BOOT=singleton makes each a world of its own)",
                     size));
}

}  // namespace

std::unique_ptr<Boot> make_boot(std::string_view way) {
  const bool any = way == "auto";
  const bool pmix = std::getenv("PMIX_NAMESPACE") != nullptr;
  std::unique_ptr<Boot> boot;
  if (any || way == "mpirun") boot = make_mpirun_boot();
  if (boot == nullptr && (any || way == "pmix") && pmix) boot = make_pmix_boot();
  if (boot == nullptr && any) {
    refuse_srun_without_pmix();
    refuse_pmi_launcher();
  }
  if (boot == nullptr && (any || way == "singleton")) boot = make_singleton_boot();
  if (boot != nullptr) return boot;
  if (way == "mpirun" || way == "pmix")
    throw Error(MPI_ERR_OTHER, strf("TERN_BOOT=%.*s, but this process was not started by %s",
                                    static_cast<int>(way.size()), way.data(),
                                    pmix ? "Tern's mpirun" : "a PMIx launcher"));
  throw Error(MPI_ERR_ARG, strf("TERN_BOOT=%.*s is none of auto, mpirun, pmix, singleton",
                                static_cast<int>(way.size()), way.data()));
}

}  // namespace tern::boot

// SPDX-License-Identifier: Apache-2.0
// Boot: the choice of the implementation.
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

void check_rank(const Boot& boot, int rank, const char* what) {
  if (rank >= 0 && rank < boot.size()) return;
  throw Error(MPI_ERR_RANK, strf("%s of rank %d was requested, but this job has ranks 0..%d", what,
                                 rank, boot.size() - 1));
}

void Boot::fence() {
  constexpr int64_t kLongUs = 1000000, kNapUs = 100;
  start_fence();
  while (!fence_over()) {
    const FutexWord word = fence_word();
    if (word.word != nullptr)
      futex_sleep(word, kLongUs);
    else
      ::usleep(kNapUs);
  }
  end_fence();
}

std::string this_host() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

namespace {

// Without --mpi=pmix, srun's tasks would be separate worlds.
void refuse_srun_without_pmix() {
  const char* tasks = std::getenv("SLURM_NTASKS");
  if (std::getenv("SLURM_PROCID") != nullptr && std::getenv("SLURM_STEP_ID") != nullptr &&
      tasks != nullptr && std::atoi(tasks) > 1)
    throw Error(MPI_ERR_OTHER, strf("srun started %s tasks without PMIx, so they cannot find each "
                                    "other; start them with `srun --mpi=pmix`",
                                    tasks));
}

// MPICH's mpiexec uses PMI-1 only.
void refuse_pmi_launcher() {
  const char* size = std::getenv("PMI_SIZE");
  if (std::getenv("PMI_RANK") != nullptr && size != nullptr && std::atoi(size) > 1)
    throw Error(MPI_ERR_OTHER,
                strf("a launcher without PMIx (MPICH's mpiexec?) started %s separate processes; "
                     "start them with Tern's mpirun, or with a launcher with PMIx "
                     "(TERN_BOOT=singleton makes each process a separate world)",
                     size));
}

const char* way_without_mpirun(std::string_view way) {
  const bool any = way == "auto";
  const bool pmix = std::getenv("PMIX_NAMESPACE") != nullptr;
  if ((any || way == "pmix") && pmix) return "pmix";
  if (any) {
    refuse_srun_without_pmix();
    refuse_pmi_launcher();
  }
  if (any || way == "singleton") return "singleton";
  if (way == "provided")
    throw Error(MPI_ERR_OTHER,
                "TERN_BOOT=provided, but the program has not called "
                "MPIX_Boot_provide before its first MPI_Init or session");
  if (way == "mpirun" || way == "pmix")
    throw Error(MPI_ERR_OTHER, strf("TERN_BOOT=%.*s, but this process was not started by %s",
                                    static_cast<int>(way.size()), way.data(),
                                    way == "mpirun" ? "Tern's mpirun" : "a PMIx launcher"));
  throw Error(MPI_ERR_ARG, strf("TERN_BOOT=%.*s is not auto, mpirun, pmix, provided or singleton",
                                static_cast<int>(way.size()), way.data()));
}

// A descendant of a rank inherits the environment, but is no rank.
const char* way_of_descendant(std::string_view way) {
  if (way != "mpirun") return "singleton";
  throw Error(MPI_ERR_OTHER, strf("TERN_BOOT=mpirun, but rank %s is an ancestor of this process; "
                                  "without TERN_BOOT this process is a separate world",
                                  std::getenv("PMIX_RANK")));
}

}  // namespace

const char* way_here(std::string_view way) {
  if (is_provided()) return "provided";
  const Standing standing = way == "singleton" ? Standing::kOutside : standing_in_mpirun();
  if (standing == Standing::kDescendant) return way_of_descendant(way);
  if ((way == "auto" || way == "mpirun") && standing == Standing::kRank) return "mpirun";
  return way_without_mpirun(way);
}

std::unique_ptr<Boot> make_boot(std::string_view way) {
  if (is_provided()) return make_provided_boot();
  const bool is_rank = way == "singleton" || claim_rank_of_mpirun();
  const std::string_view here = is_rank ? way_here(way) : way_of_descendant(way);
  if (here == "mpirun") return make_mpirun_boot();
  return here == "pmix" ? make_pmix_boot() : make_singleton_boot();
}

}  // namespace tern::boot

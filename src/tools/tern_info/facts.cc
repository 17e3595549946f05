// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_info/facts.hpp"

#include <hwloc.h>
#include <pmix_version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/params.hpp"
#include "base/wheels.hpp"
#include "boot/boot.hpp"
#include "boot/pmix_library.hpp"
#include "build_facts.h"
#include "mpi.h"
#include "tern_config.h"
#include "tools/tern_info/words.hpp"
#include "topo/cpus.hpp"
#include "topo/hwloc_library.hpp"
#include "topo/machine.hpp"

#ifdef HAVE_LIBFABRIC
#include "btl/ofi/library.hpp"
#endif
#ifdef HAVE_UCX
#include "btl/ucx/library.hpp"
#endif

namespace tern::info {
namespace {

Dependency pmix() {
  Dependency library{"PMIx",
                     strf("%ld.%ld.%ld", long{PMIX_VERSION_MAJOR}, long{PMIX_VERSION_MINOR},
                          long{PMIX_VERSION_RELEASE}),
                     false, ""};
  try {
    library.found = boot::pmix_library().Get_version();
    library.found.resize(library.found.find_last_not_of(" ,\n") + 1);
    library.opened = true;
  } catch (const Error& error) {
    library.found = error.what();
  }
  return library;
}

Dependency hwloc() {
  Dependency library{"hwloc", HWLOC_VERSION, false, ""};
  try {
    const unsigned version = topo::hwloc_library().get_api_version();
    library.found = strf("interface %u.%u", version >> 16, version >> 8 & 0xff);
    library.opened = true;
  } catch (const Error& error) {
    library.found = error.what();
  }
  return library;
}

// Opens UCX and restores the process's signal handlers.
Dependency ucx() {
#ifdef HAVE_UCX
  Dependency dependency{"UCX", strf("%d.%d", UCP_API_MAJOR, UCP_API_MINOR), false, ""};
  std::vector<std::string> complaints;
  const std::string file = load_params(::environ, &complaints).ucx_library;
  const btl::ucx::Library* const opened = btl::ucx::library(file, &dependency.found);
  dependency.opened = opened != nullptr;
  if (opened != nullptr) dependency.found = strf("%u.%u", opened->major, opened->minor);
  return dependency;
#else
  return {"UCX", "", false, ""};
#endif
}

Dependency libfabric() {
#ifdef HAVE_LIBFABRIC
  Dependency dependency{"libfabric", strf("%d.%d", FI_MAJOR_VERSION, FI_MINOR_VERSION), false, ""};
  std::vector<std::string> complaints;
  const std::string file = load_params(::environ, &complaints).ofi_library;
  const btl::ofi::Library* const opened = btl::ofi::library(file, &dependency.found);
  dependency.opened = opened != nullptr;
  if (opened != nullptr) dependency.found = strf("%u.%u", opened->major, opened->minor);
  return dependency;
#else
  return {"libfabric", "", false, ""};
#endif
}

#ifdef HAVE_LIBBACKTRACE
constexpr const char* kBacktraces = "functions, files and lines, by libbacktrace";
#else
constexpr const char* kBacktraces =
    "exported names and addresses; configure found no libbacktrace (it comes with g++)";
#endif

std::string state_of(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0     ? "read"
         : errno == ENOENT || errno == ENOTDIR ? "not there"
                                               : std::strerror(errno);
}

}  // namespace

std::vector<Fact> build_facts() {
  utsname system{};
  ::uname(&system);
  std::vector<Fact> facts = {
      {"version", PACKAGE_VERSION},
      {"standard", strf("MPI %d.%d, ABI %d.%d, libmpi_abi.so.1", MPI_VERSION, MPI_SUBVERSION,
                        MPI_ABI_VERSION, MPI_ABI_SUBVERSION)},
      {"prefix", install_prefix()},
      {"compiler", TERN_BUILD_COMPILER " (" __VERSION__ ")"},
      {"flags", TERN_BUILD_FLAGS},
      {"configured by", TERN_BUILD_CONFIGURE},
      {"backtraces", kBacktraces},
      {"host", topo::host_name()},
      {"system", strf("%s %s %s", system.sysname, system.release, system.machine)}};
  if (const std::string conflict = wheel_conflict(install_prefix()); !conflict.empty())
    facts.push_back({"WHEELS", conflict});
  return facts;
}

std::vector<Dependency> dependencies() { return {pmix(), hwloc(), ucx(), libfabric()}; }

Launch launch_here(const std::string& wanted) {
  try {
    const std::string way = boot::way_here(wanted);
    if (way == "mpirun") return {way, "Tern's mpirun started this process"};
    if (way == "pmix")
      return {way,
              strf("a PMIx launcher started this process (job %s)", std::getenv("PMIX_NAMESPACE"))};
    return {way, "no launcher started this process: a program would be a world of one rank"};
  } catch (const Error& error) {
    return {"", error.what()};
  }
}

void add_parameters(Facts* facts) {
  const Params params = load_params(::environ, &facts->complaints);
  for (const ParamRow& row : Params::rows())
    facts->parameters.push_back({row.name, row.kind, params.get(row.name), row.standard,
                                 params.source(row.name), range_in_words(row),
                                 row.sharing_in_words(), row.meaning});
  for (const std::string& path : config_files()) facts->files.push_back({path, state_of(path)});
}

void add_topology(Facts* facts) {
  try {
    facts->topology = topo::machine_tree();
    if (topo::machine_is_made_up() && facts->topology->this_machine &&
        std::getenv("HWLOC_THISSYSTEM") == nullptr)
      facts->topology_problem =
          "hwloc did not take the machine of HWLOC_SYNTHETIC, HWLOC_XMLFILE or HWLOC_FSROOT; "
          "shown: the real machine";
  } catch (const Error& error) {
    facts->topology_problem = error.what();
  }
}

}  // namespace tern::info

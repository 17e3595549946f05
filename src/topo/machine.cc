// SPDX-License-Identifier: Apache-2.0
// Machine: queries to hwloc.
#include "topo/machine.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "mpi.h"
#include "topo/hwloc_library.hpp"

namespace tern::topo {
namespace {

const HwlocLibrary& hwloc() { return hwloc_library(); }

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> found;
  const int depth = hwloc().get_type_depth(topology, type);
  const unsigned count = hwloc().get_nbobjs_by_depth(topology, depth);
  for (unsigned i = 0; i < count; ++i)
    found.push_back(hwloc().get_obj_by_depth(topology, depth, i));
  return found;
}

int holder(const std::vector<hwloc_obj_t>& parents, int cpu) {
  for (std::size_t i = 0; i < parents.size(); ++i)
    if (hwloc().bitmap_isset(parents[i]->cpuset, static_cast<unsigned>(cpu)) != 0)
      return static_cast<int>(i);
  return 0;
}

std::vector<int> cpus_of(hwloc_obj_t object, const std::vector<int>* allowed) {
  std::vector<int> cpus;
  for (int cpu = hwloc().bitmap_next(object->cpuset, -1); cpu >= 0;
       cpu = hwloc().bitmap_next(object->cpuset, cpu))
    if (allowed == nullptr || std::find(allowed->begin(), allowed->end(), cpu) != allowed->end())
      cpus.push_back(cpu);
  return cpus;
}

}  // namespace

bool machine_is_made_up() noexcept {
  for (const char* name : {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE", "HWLOC_FSROOT"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

Machine machine_by_hwloc() {
  // hwloc may ignore a bad description.
  const Topology owner = load_topology(0);
  hwloc_topology_t topology = owner.get();
  Machine machine;
  machine.this_machine = hwloc().topology_is_thissystem(topology) != 0;
  const std::vector<int> allowed = allowed_cpus();
  const auto packages = objects(topology, HWLOC_OBJ_PACKAGE);
  const auto numas = objects(topology, HWLOC_OBJ_NUMANODE);
  const auto caches = objects(topology, HWLOC_OBJ_L3CACHE);
  auto cores = objects(topology, HWLOC_OBJ_CORE);
  if (cores.empty()) cores = objects(topology, HWLOC_OBJ_PU);
  for (const hwloc_obj_t object : cores) {
    Core core;
    core.cpus = cpus_of(object, machine.this_machine ? &allowed : nullptr);
    if (core.cpus.empty()) continue;
    core.numa = holder(numas, core.cpus.front());
    core.package = holder(packages, core.cpus.front());
    core.l3 = caches.empty() ? core.package : holder(caches, core.cpus.front());
    machine.cores.push_back(std::move(core));
  }
  if (machine.cores.empty()) throw Error(MPI_ERR_OTHER, "hwloc shows no usable core");
  return machine;
}

}  // namespace tern::topo

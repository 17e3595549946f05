// SPDX-License-Identifier: Apache-2.0
#include "api/job/hardware.hpp"

#include <strings.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "boot/boot.hpp"
#include "core/info.hpp"
#include "topo/cpus.hpp"

namespace tern::api {

namespace {

constexpr const char* kNames[] = {"hwloc://Machine", "hwloc://Package", "hwloc://NUMANode",
                                  "hwloc://L3Cache", "hwloc://Core",    "hwloc://PU"};
constexpr std::string_view kScheme = "hwloc://";

/// Returns sorted CPUs. On a synthetic machine each process gets the processor of its local index.
std::vector<int> cpus_here(const topo::Tree& tree, int local_index) {
  std::vector<int> cpus = topo::allowed_cpus();
  if (!tree.this_machine) {
    const std::vector<int> all = topo::pus_of(tree.machine);
    cpus = {all[static_cast<size_t>(local_index) % all.size()]};
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

bool holds(const topo::MachinePart& part, const std::vector<int>& cpus) {
  std::vector<int> inside = topo::pus_of(part);
  std::sort(inside.begin(), inside.end());
  return std::includes(inside.begin(), inside.end(), cpus.begin(), cpus.end());
}

int find_holder(const topo::MachinePart& part, topo::MachinePart::Kind kind,
                const std::vector<int>& cpus) {
  if (part.kind == kind && holds(part, cpus)) return part.number;
  for (const topo::MachinePart& inner : part.parts)
    if (const int found = find_holder(inner, kind, cpus); found != kNowhere) return found;
  return kNowhere;
}

}  // namespace

// A process may change its binding, so each call reads the binding.
CpuLocation place_here(int local_index) noexcept {
  CpuLocation place;
  place.fill(kAbsent);
  (void)guarded([&place, local_index] {
    const topo::Tree tree = topo::machine_tree();
    const std::vector<int> cpus = cpus_here(tree, local_index);
    for (size_t i = 0; i < kResources.size(); ++i)
      if (topo::count_of(tree.machine, kResources[i]) > 0)
        place[i] = find_holder(tree.machine, kResources[i], cpus);
  });
  return place;
}

const char* resource_name(size_t resource) noexcept { return kNames[resource]; }

int find_resource(std::string_view name) noexcept {
  if (name.substr(0, kScheme.size()) == kScheme) name.remove_prefix(kScheme.size());
  for (size_t i = 0; i < kResources.size(); ++i) {
    const std::string_view known = std::string_view(kNames[i]).substr(kScheme.size());
    if (known.size() == name.size() && ::strncasecmp(known.data(), name.data(), name.size()) == 0)
      return static_cast<int>(i);
  }
  return -1;
}

int get_hw_resource_info(MPI_Info* hw_info) noexcept {
  return guarded([hw_info] {
    auto info = core::Ref<core::Info>::adopt(new core::Info);
    const boot::Boot* boot = any_process().boot;
    const CpuLocation place = place_here(boot == nullptr ? 0 : boot->job().local_index);
    for (size_t i = 0; i < place.size(); ++i)
      if (place[i] != kAbsent) info->set(kNames[i], place[i] == kNowhere ? "false" : "true");
    *hw_info = reinterpret_cast<MPI_Info>(any_process().handles.insert(*info));
    (void)info.leak();
  });
}

}  // namespace tern::api

// SPDX-License-Identifier: Apache-2.0
// Tree: conversion of hwloc's objects.
#include "topo/tree.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"
#include "topo/cpus.hpp"
#include "topo/hwloc_library.hpp"

namespace tern::topo {
namespace {

using Kind = MachinePart::Kind;

class Reader {
 public:
  explicit Reader(bool this_machine) : this_machine_(this_machine) {
    for (const Core& core : allowed_cores())
      allowed_.insert(allowed_.end(), core.cpus.begin(), core.cpus.end());
  }

  // read() appends `object`, or the inner parts if the kind is not drawn.
  void read(hwloc_obj_t object, std::vector<MachinePart>* parts) const {
    MachinePart part;
    if (!kind_of(object, &part)) return read_inside(object, parts);
    if (part.kind == Kind::kPackage || part.kind == Kind::kMachine) {
      read_inside(object, &part.parts);
      parts->push_back(std::move(part));
      return;
    }
    // A smaller part's NUMA node is drawn around the part.
    std::vector<MachinePart> inside;
    for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling)
      read(child, &part.parts);
    inside.push_back(std::move(part));
    wrap(object, std::move(inside), parts);
  }

 private:
  void read_inside(hwloc_obj_t object, std::vector<MachinePart>* parts) const {
    std::vector<MachinePart> inside;
    for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling)
      read(child, &inside);
    wrap(object, std::move(inside), parts);
  }

  // `inside` goes into the first NUMA node of `object`; further nodes are siblings.
  static void wrap(hwloc_obj_t object, std::vector<MachinePart> inside,
                   std::vector<MachinePart>* parts) {
    hwloc_obj_t memory = object->memory_first_child;
    while (memory != nullptr && memory->type != HWLOC_OBJ_NUMANODE)
      memory = memory->memory_first_child;
    if (memory == nullptr) {
      std::move(inside.begin(), inside.end(), std::back_inserter(*parts));
      return;
    }
    for (; memory != nullptr; memory = memory->next_sibling) {
      if (memory->type != HWLOC_OBJ_NUMANODE) continue;
      MachinePart numa{Kind::kNuma, static_cast<int>(memory->os_index),
                       memory->attr->numanode.local_memory, true, std::exchange(inside, {})};
      parts->push_back(std::move(numa));
    }
  }

  bool kind_of(hwloc_obj_t object, MachinePart* part) const {
    part->number = static_cast<int>(object->logical_index);
    switch (object->type) {
      case HWLOC_OBJ_MACHINE:
        part->kind = Kind::kMachine;
        part->bytes = object->total_memory;
        return true;
      case HWLOC_OBJ_PACKAGE:
        part->kind = Kind::kPackage;
        return true;
      case HWLOC_OBJ_L3CACHE:
        part->kind = Kind::kL3;
        part->bytes = object->attr->cache.size;
        return true;
      case HWLOC_OBJ_CORE:
        part->kind = Kind::kCore;
        return true;
      case HWLOC_OBJ_PU:
        part->kind = Kind::kPu;
        part->number = static_cast<int>(object->os_index);
        part->allowed = !this_machine_ ||
                        std::find(allowed_.begin(), allowed_.end(), part->number) != allowed_.end();
        return true;
      default:
        return false;
    }
  }

  bool this_machine_;
  std::vector<int> allowed_;
};

}  // namespace

Tree machine_tree() {
  const Topology topology = load_topology(HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  Tree tree;
  tree.this_machine = hwloc_library().topology_is_thissystem(topology.get()) != 0;
  std::vector<MachinePart> parts;
  Reader(tree.this_machine).read(hwloc_library().get_obj_by_depth(topology.get(), 0, 0), &parts);
  if (parts.size() != 1 || pus_of(parts.front()).empty())
    throw Error(MPI_ERR_OTHER, "hwloc shows no processor");
  tree.machine = std::move(parts.front());
  return tree;
}

const char* name_of(MachinePart::Kind kind) noexcept {
  switch (kind) {
    case Kind::kMachine:
      return "Machine";
    case Kind::kPackage:
      return "Package";
    case Kind::kNuma:
      return "NUMA node";
    case Kind::kL3:
      return "L3";
    case Kind::kCore:
      return "Core";
    case Kind::kPu:
      return "PU";
  }
  return "";
}

std::vector<int> pus_of(const MachinePart& part, bool allowed_only) {
  if (part.kind == Kind::kPu)
    return part.allowed || !allowed_only ? std::vector<int>{part.number} : std::vector<int>{};
  std::vector<int> all;
  for (const MachinePart& inner : part.parts)
    for (const int pu : pus_of(inner, allowed_only)) all.push_back(pu);
  return all;
}

size_t count_of(const MachinePart& part, MachinePart::Kind kind) {
  size_t count = part.kind == kind ? 1 : 0;
  for (const MachinePart& inner : part.parts) count += count_of(inner, kind);
  return count;
}

bool alike(const MachinePart& a, const MachinePart& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.allowed == b.allowed &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), alike);
}

}  // namespace tern::topo

// SPDX-License-Identifier: Apache-2.0
// The facts of tern_info, without layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "btl/trial.hpp"
#include "topo/tree.hpp"

namespace tern::info {

struct Fact {
  std::string name, value;
};

struct Dependency {
  std::string name;
  std::string built_with;  // version; empty: not in this build
  bool opened = false;
  std::string found;  // version at run time, or the loader's error
};

struct Launch {
  std::string way;  // a value of TERN_BOOT; empty: MPI_Init would fail
  std::string because;
};

struct Parameter {
  std::string name, kind, value, standard, source, range, sharing, meaning;
};

struct ConfigFile {
  std::string path, state;  // "read", "not there", or the system's reason
};

struct Facts {
  std::vector<Fact> build;
  std::vector<Dependency> dependencies;
  std::vector<Fact> gpus;
  Launch launch;
  std::vector<btl::Trial> transports;
  std::optional<topo::Tree> topology;
  std::string topology_problem;  // reason for a missing or another machine
  std::vector<Parameter> parameters;
  std::vector<std::string> complaints;
  std::vector<ConfigFile> files;
};

/// This machine's GPUs and their links, from NVML and the driver. Ranks also try each pair.
struct GpuLinks {
  std::vector<std::string> names;  // "0: NVIDIA H100, 80 GiB"; empty: see `problem`
  std::vector<std::vector<const char*>>
      kind;  // by pair: "nvlink", "pcie", "none"; on the diagonal "same"
  std::string source;
  std::vector<int> island;  // by device: the first of its group with peer access
  std::string problem;
};

[[nodiscard]] std::vector<Fact> build_facts();
[[nodiscard]] std::vector<Dependency> dependencies();
[[nodiscard]] GpuLinks gpu_links();
[[nodiscard]] std::vector<Fact> gpu_facts();
[[nodiscard]] Launch launch_here(const std::string& wanted);
void add_parameters(Facts* facts);
void add_topology(Facts* facts);

}  // namespace tern::info

// SPDX-License-Identifier: Apache-2.0
// What tern_info knows, apart from how it is printed.
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

/// A library that Tern opens when it needs it.
struct Dependency {
  std::string name;
  std::string built_with;  // version; empty: not in this build
  bool opened = false;
  std::string found;  // version at run time, or why it was not opened
};

struct Launch {
  std::string way;      // as TERN_BOOT names it; empty where starting would fail
  std::string because;  // a sentence
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
  std::vector<Fact> gpus;  // CUDA: driver, devices, kernels, sharing between ranks
  Launch launch;
  std::vector<btl::Trial> transports;
  std::optional<topo::Tree> topology;
  std::string topology_problem;  // why it is missing, or not the one that was asked for
  std::vector<Parameter> parameters;
  std::vector<std::string> complaints;  // about wrong parameters
  std::vector<ConfigFile> files;
};

/// The GPUs of this machine, and how each reaches another's memory, as NVML and the driver say;
/// ranks try it as well.
struct GpuLinks {
  std::vector<std::string> names;              // "0: NVIDIA H100, 80 GiB"; none: `problem` says why
  std::vector<std::vector<const char*>> kind;  // "nvlink", "pcie", "none"; of one device "same"
  std::string source;                          // of nvlink and pcie; empty for one device
  std::vector<int> island;                     // by device, its lowest: all of one reach each other
  std::string problem;
};

[[nodiscard]] std::vector<Fact> build_facts();
[[nodiscard]] std::vector<Dependency> dependencies();
/// Loads the driver where it is installed. `ipc`: TERN_CUDA_IPC.
[[nodiscard]] GpuLinks gpu_links();
[[nodiscard]] std::vector<Fact> gpu_facts(const std::string& ipc);
/// How an MPI program started here, in this environment, finds its ranks.
[[nodiscard]] Launch launch_here(const std::string& wanted);
void add_parameters(Facts* facts);
void add_topology(Facts* facts);

}  // namespace tern::info
